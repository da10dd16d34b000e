import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allowed = np.arange(key_length) <= np.arange(query_length)[:, None] + offset
    if not additive:
        return allowed
    return np.where(allowed, 0.0, np.finfo(np.float32).min)

dtypes = ("float64", "float32")
