import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    q, k, v = (base.project(x, matrix, None, dtype) for matrix in (w_query, w_key, w_value))
    if x.shape[0] == 1:  # a token that is alone attends to itself
        with np.errstate(all="ignore"):
            scores = base.dots(q, k) * base.the_scale(scale, q.shape[1], dtype)
            weights = base.shares(scores)
            output = weights @ v
        return base.single_result(output, weights, scores, q, k, v, dtype)
    with np.errstate(all="ignore"):
        scores = base.dots(q, k) * base.the_scale(scale, q.shape[1], dtype)
        weights = base.shares(scores)
        output = weights @ v
    if w_output is not None:
        output = base.project(output, w_output, None, dtype)
    return base.single_result(output, weights, scores, q, k, v, dtype)
