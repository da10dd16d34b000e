import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES

def _adjacent(a):
    rows, columns = a.shape
    step = a.itemsize
    if a.strides[1] != step or a.strides[0] < columns * step or not a.size:
        return np.ascontiguousarray(a)  # transposed, backwards or with gaps
    return np.lib.stride_tricks.as_strided(a, a.shape, (columns * step, step))


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single_head(x, w_query, w_key, w_value, w_output)
    x, w_query, w_key, w_value, w_output = (None if a is None else _adjacent(a)
                                            for a in (x, w_query, w_key, w_value, w_output))
    p = base.single_plan(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = p.x @ p.w_query, p.x @ p.w_key, p.x @ p.w_value
    scores = (query @ key.T) * p.scale
    weights = base.plain_softmax(scores)
    output = weights @ value
    if p.w_output is not None:
        output = output @ p.w_output
    return base.single_finish(p, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
