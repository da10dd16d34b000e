import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    columns = query_length if key_length is None else key_length
    i = np.arange(query_length, dtype=np.uint16) + np.array(offset).astype(np.uint16)
    j = np.arange(columns, dtype=np.uint16)
    keep = j[None, :] <= i[:, None]
    if additive:
        numbers = np.zeros(keep.shape, np.float32)
        numbers[~keep] = -np.inf
        return numbers
    return keep

dtypes = ("float64", "float32")
