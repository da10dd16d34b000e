import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    columns = query_length if key_length is None else key_length
    ones = np.tri(query_length, columns, offset)
    if not additive:
        return ones == 1
    with np.errstate(divide="ignore"):
        return np.log(ones)

dtypes = ("float64", "float32")
