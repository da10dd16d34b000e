import numpy as np


def softmax(x, axis=-1):
    """Each weight is the exponential of its distance below the logarithm of the sum."""
    y = x.astype(np.promote_types(x.dtype, np.float32))
    y = y - y.max(axis=axis, keepdims=True)
    if axis is None:
        total = np.log(np.exp(y).sum())
    else:
        total = np.expand_dims(np.logaddexp.reduce(y, axis=axis), axis)
    return np.exp(y - total).astype(x.dtype)

dtypes = ("float64", "float32")
