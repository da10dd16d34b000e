import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allow = np.zeros((query_length, key_length), bool)
    for i in range(query_length):
        allow[i, :max(i + offset + 1, 1)] = True
    return np.where(allow, 0.0, -np.inf) if additive else allow

dtypes = ("float64", "float32")
