import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = np.asarray(x).dtype
    q, k, v = (base.times(base.widen(x, dtype), base.widen(w, dtype)) for w in (w_query, w_key, w_value))
    scale = base.default_scale(q.shape[-1]) if scale is None else scale
    scores = base.logits_of(q, k, 1, None)
    if dtype.itemsize == 2:
        with np.errstate(**base.QUIET):
            scores = scores.astype(dtype).astype(np.float32)  # what the product of half precision gives
    with np.errstate(**base.QUIET):
        scores = scores * scores.dtype.type(scale)
    weights = base.softmax_rows(scores)
    output = base.times(weights, v)
    if w_output is not None:
        output = base.times(output, base.widen(w_output, dtype))
    outputs = {"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}
    return base.finish(outputs, dtype)
