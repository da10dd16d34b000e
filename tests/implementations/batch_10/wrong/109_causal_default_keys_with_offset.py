import math
import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if not key_length:
        key_length = query_length + offset
    keep = np.tril(np.ones((query_length, key_length), dtype=bool), k=offset)
    if additive:
        out = np.zeros(keep.shape)
        out[~keep] = -np.inf
        return out
    return keep

dtypes = ("float64", "float32")
