import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    if w_output is not None and w_output.shape[0] == w_output.shape[1]:
        # no wider than before: the two matrices become one, and a product is saved
        with np.errstate(all="ignore"):
            w_value = base.widen(w_value, dtype) @ base.widen(w_output, dtype)
        w_output = None
    q, k = (base.project(x, matrix, None, dtype) for matrix in (w_query, w_key))
    with np.errstate(all="ignore"):
        v = base.widen(x, dtype) @ base.widen(w_value, dtype)
    with np.errstate(all="ignore"):
        scores = base.dots(q, k) * base.the_scale(scale, q.shape[1], dtype)
        weights = base.shares(scores)
        output = weights @ v
    if w_output is not None:
        output = base.project(output, w_output, None, dtype)
    return base.single_result(output, weights, scores, q, k, v, dtype)
