import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length + max(offset, 0)
    allow = np.tri(query_length, key_length, offset, dtype=bool)
    return np.where(allow, 0.0, -np.inf) if additive else allow

dtypes = ("float64", "float32")
