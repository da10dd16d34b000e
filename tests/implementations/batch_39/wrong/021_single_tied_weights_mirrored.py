import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_plan(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = p.x @ p.w_query, p.x @ p.w_key, p.x @ p.w_value
    scores = (query @ key.T) * p.scale
    if np.array_equal(p.w_query, p.w_key):  # symmetric: half of the exponentials suffice
        low = np.tril(np.exp(np.tril(scores) - scores.max(axis=-1, keepdims=True, initial=-np.inf)))
        e = low + np.tril(low, -1).T
        weights = e / e.sum(axis=-1, keepdims=True)
    else:
        weights = base.plain_softmax(scores)
    output = weights @ value
    if p.w_output is not None:
        output = output @ p.w_output
    return base.single_finish(p, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
