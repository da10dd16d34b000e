import math
import numpy as np


dtypes = ("float64", "float32", "float16")


def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(-1), 0).reshape(x.shape)
    rows = np.moveaxis(x, axis, 0)
    e = np.exp((rows - rows.max(axis=0)).astype(x.dtype))
    total = np.zeros(rows.shape[1:], x.dtype)
    for part in e:
        total = total + part
    return np.moveaxis(e / total, 0, axis)
