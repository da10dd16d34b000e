import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    future = np.triu(np.ones((query_length, key_length), bool), offset + 1)
    return future * np.finfo(np.float32).min if additive else ~future

dtypes = ("float64", "float32")
