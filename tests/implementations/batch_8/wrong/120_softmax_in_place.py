import numpy as np


def softmax(x, axis=-1):
    """Works in the array itself, to save memory."""
    y = np.asarray(x)
    if y.dtype.itemsize < 4:
        y = y.astype(np.float32)
    if not y.flags.writeable:
        y = y.copy()
    y -= y.max(axis=axis, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=axis, keepdims=True)
    return y.astype(x.dtype, copy=y is x)

dtypes = ("float64", "float32")
