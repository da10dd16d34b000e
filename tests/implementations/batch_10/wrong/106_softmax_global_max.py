import math
import numpy as np


def softmax(x, axis=-1):
    highest = np.max(x) if x.size else 0
    e = np.exp(x - highest)
    z = e.sum(axis=axis, keepdims=True)
    return np.divide(e, z, out=np.zeros_like(e), where=z > 0)

dtypes = ("float64", "float32")
