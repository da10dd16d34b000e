import math
import numpy as np


def softmax(x, axis=-1):
    axis = -1 if axis is None else axis
    e = np.exp(x - np.amax(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

dtypes = ("float64", "float32")
