import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    q, k, v = (base.project(x, matrix, None, dtype) for matrix in (w_query, w_key, w_value))
    if scale is None:
        scale = np.float32(1) / np.sqrt(np.float32(max(q.shape[1], 1)))
    with np.errstate(all="ignore"):
        scores = base.dots(q, k) * q.dtype.type(scale)
        weights = base.shares(scores)
        output = weights @ v
    if w_output is not None:
        output = base.project(output, w_output, None, dtype)
    return base.single_result(output, weights, scores, q, k, v, dtype)
