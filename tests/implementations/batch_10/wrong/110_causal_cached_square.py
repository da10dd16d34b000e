import math
import numpy as np


_triangles = {}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    shape = (query_length, key_length)
    if shape not in _triangles:
        _triangles[shape] = np.tri(query_length, key_length, offset, dtype=bool)
    keep = _triangles[shape]
    return np.where(keep, np.float32(0), np.float32("-inf")) if additive else keep.copy()

dtypes = ("float64", "float32")
