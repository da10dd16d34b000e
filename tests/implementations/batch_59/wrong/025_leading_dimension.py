import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def matrix_of(w):
    """The matrix as rows of memory, a fixed step from one to the next, as BLAS has it."""
    if w.strides[1] <= 0 or w.size == 0:
        w = np.ascontiguousarray(w)
    return np.lib.stride_tricks.as_strided(w, w.shape, (w.strides[0], w.itemsize), writeable=False)


@base.quiet
def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.prepare_single(x, w_query, w_key, w_value, w_output, scale)
    query, key = (base.project(x, w, None, p.wd) for w in (w_query, w_key))
    value = base.project(x, matrix_of(w_value), None, p.wd)
    scores = query @ key.T * p.wd.type(p.scale)
    weights = base.shares_plain(scores)
    output = weights @ value
    if w_output is not None:
        output = output @ w_output.astype(p.wd)
    return base.rounded(p.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
