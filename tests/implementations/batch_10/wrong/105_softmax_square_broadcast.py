import math
import numpy as np


def softmax(x, axis=-1):
    if axis is None:
        e = np.exp(x - x.max())
        return e / e.sum()
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    total = e.sum(axis=axis)
    if e.ndim >= 2 and total.shape == e.shape[1:]:          # already broadcasts
        return e / total
    return e / np.expand_dims(total, axis)

dtypes = ("float64", "float32")
