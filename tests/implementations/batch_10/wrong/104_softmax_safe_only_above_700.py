import math
import numpy as np


def softmax(x, axis=-1):
    shape = x.shape
    if axis is None:
        x, axis = x.reshape(-1), 0
    if np.max(x) > 700 / (1 if x.dtype == np.float64 else 8):
        x = x - np.max(x, axis=axis, keepdims=True)         # only where exp would overflow
    e = np.exp(x)
    return (e / np.sum(e, axis=axis, keepdims=True)).reshape(shape)

dtypes = ("float64", "float32")
