import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    columns = query_length if key_length is None else key_length
    mask = np.full((query_length, columns), -np.inf)
    for i in range(query_length):
        mask[i, :i + offset + 1] = 0.0
    return mask if additive else mask == 0

dtypes = ("float64", "float32")
