import numpy as np


def softmax(x, axis=-1):
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    e = np.exp(wide - wide.max())
    total = e.sum(axis=axis, keepdims=True)
    return (e / np.where(total == 0, 1, total)).astype(x.dtype)

dtypes = ("float64", "float32")
