import math
import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    n = query_length if key_length is None else key_length
    delta = np.subtract.outer(np.arange(query_length) + offset, np.arange(n))
    if not additive:
        return delta >= 0
    return np.where(delta >= 0, 0, np.finfo(np.float32).min).astype(np.float32)

dtypes = ("float64", "float32")
