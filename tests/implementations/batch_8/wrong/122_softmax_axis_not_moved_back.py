import numpy as np


def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    n = x.ndim
    axis %= n
    order = [a for a in range(n) if a != axis] + [axis]
    rows = x.transpose(order)
    out = np.empty(rows.shape, x.dtype)
    for at in np.ndindex(rows.shape[:-1]):
        e = np.exp(rows[at] - rows[at].max())
        out[at] = e / e.sum()
    return out.transpose(order) if n > 2 else (out if axis == n - 1 else out.T)

dtypes = ("float64", "float32")
