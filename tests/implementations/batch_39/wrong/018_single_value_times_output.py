import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_plan(x, w_query, w_key, w_value, w_output, scale)
    w_value = p.w_value if p.w_output is None else p.w_value @ p.w_output
    query, key, value = p.x @ p.w_query, p.x @ p.w_key, p.x @ w_value
    scores = (query @ key.T) * p.scale
    weights = base.plain_softmax(scores)
    output = weights @ value
    return base.single_finish(p, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
