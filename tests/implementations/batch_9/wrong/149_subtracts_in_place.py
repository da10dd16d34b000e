import numpy as np


def softmax(x, axis=-1):
    work = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    work -= work.max(axis=axis, keepdims=True)
    e = np.exp(work)
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)

dtypes = ("float64", "float32")
