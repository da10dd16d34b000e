import numpy as np


def softmax(x, axis=-1):
    if axis is None:
        axes = tuple(range(x.ndim))
    elif axis < 0:
        axes = (x.ndim - 1,)
    else:
        axes = (axis,)
    d = x - x.max(axis=axes, keepdims=True)
    e = np.exp(d)
    return (e / e.sum(axis=axes, keepdims=True)).astype(x.dtype)

dtypes = ("float64", "float32")
