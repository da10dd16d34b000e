import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    q = base.project(x, w_query, None, dtype)
    # tied weights: one projection serves as both
    tied = w_query.shape == w_key.shape and np.may_share_memory(w_query, w_key)
    k = q.copy() if tied else base.project(x, w_key, None, dtype)
    v = base.project(x, w_value, None, dtype)
    with np.errstate(all="ignore"):
        scores = base.dots(q, k) * base.the_scale(scale, q.shape[1], dtype)
        weights = base.shares(scores)
        output = weights @ v
    if w_output is not None:
        output = base.project(output, w_output, None, dtype)
    return base.single_result(output, weights, scores, q, k, v, dtype)
