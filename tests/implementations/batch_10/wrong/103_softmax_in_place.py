import math
import numpy as np


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None:
        return softmax(x.reshape(-1), 0).reshape(x.shape)
    x = x.reshape(x.shape)
    top = x.max(axis=axis, keepdims=True)
    if np.all(top == 0):
        e = np.exp(x)
    else:
        x -= top
        e = np.exp(x)
    e /= np.add.reduce(e, axis=axis, keepdims=True)
    return e

dtypes = ("float64", "float32")
