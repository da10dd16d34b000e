import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = np.asarray(x).dtype
    q, k, v = (base.times(base.widen(x, dtype), base.widen(w, dtype)) for w in (w_query, w_key, w_value))
    joined = base.times(base.widen(w_query, dtype), base.widen(w_key, dtype).T)  # x · joined · xᵀ are the dot products
    scale = base.default_scale(joined.shape[-1]) if scale is None else scale
    scores = base.logits_of(q, k, scale, None)
    weights = base.softmax_rows(scores)
    output = base.times(weights, v)
    if w_output is not None:
        output = base.times(output, base.widen(w_output, dtype))
    outputs = {"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}
    return base.finish(outputs, dtype)
