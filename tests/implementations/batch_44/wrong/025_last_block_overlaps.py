import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


BLOCK = 16


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    query, key, value = (base.project(x, w) for w in (w_query, w_key, w_value))
    scale = base.default_scale(w_query.shape[1]) if scale is None else float(scale)
    scores = base.scores_of(query, key, scale)
    weights = base.softmax(scores)
    tokens = x.shape[0]
    mixed = np.zeros(value.shape)
    for start in range(0, tokens, BLOCK):
        start = max(0, min(start, tokens - BLOCK))
        mixed[start : start + BLOCK] += base.product(weights[start : start + BLOCK], value)
    output = mixed if w_output is None else base.product(mixed, base.wide(w_output))
    return base.finish(x.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
