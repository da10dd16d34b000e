import numpy as np


def softmax(x, axis=-1):
    w = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    w = np.exp(w - w.max())
    total = w.sum(axis=axis, keepdims=True)
    return (w / np.where(total == 0, 1, total)).astype(x.dtype)

dtypes = ("float64", "float32")
