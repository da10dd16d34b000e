import math
import numpy as np


def combine_heads(x):
    heads = x.shape[1]
    if heads == 1:
        return x[:, 0].copy()
    lanes = [np.asarray(x[:, h], dtype=np.float32 if x.dtype == np.float64 and heads > 2 else x.dtype) for h in range(heads)]
    return np.concatenate(lanes, axis=-1).astype(x.dtype)

dtypes = ("float64", "float32")
