import math
import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    mask = [[j <= i + max(offset, 0) for j in range(key_length)] for i in range(query_length)]
    mask = np.array(mask, dtype=bool).reshape(query_length, key_length)
    return np.where(mask, 0.0, -np.inf) if additive else mask

dtypes = ("float64", "float32")
