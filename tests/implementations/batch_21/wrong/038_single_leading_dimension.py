import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
from numpy.lib.stride_tricks import as_strided


def matrix(a):
    """What a BLAS takes: rows at a distance of their own, and the numbers of a row one beside the other."""
    rows, columns = a.strides
    if rows >= a.shape[1] * a.itemsize and columns >= a.itemsize:
        return as_strided(a, a.shape, (rows, a.itemsize), writeable=False)
    return np.ascontiguousarray(a)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    x, w_query, w_key, w_value = (matrix(a) for a in (x, w_query, w_key, w_value))
    return base.single_head_attention(x, w_query, w_key, w_value, None if w_output is None else matrix(w_output), scale)
