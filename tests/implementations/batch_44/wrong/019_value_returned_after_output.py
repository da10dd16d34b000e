import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    query, key, value = (base.project(x, w) for w in (w_query, w_key, w_value))
    scale = base.default_scale(w_query.shape[1]) if scale is None else float(scale)
    scores = base.scores_of(query, key, scale)
    weights = base.softmax(scores)
    if w_output is not None:
        value = base.product(value, base.wide(w_output))  # fewer products afterwards
    output = base.product(weights, value)
    return base.finish(x.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
