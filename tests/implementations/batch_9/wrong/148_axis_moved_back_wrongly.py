import numpy as np


def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    rows = np.moveaxis(x, axis, -1).astype(np.float64 if x.dtype == np.float64 else np.float32)
    shape = rows.shape
    flat = rows.reshape(-1, shape[-1])
    for row in flat:
        row -= row.max()
        np.exp(row, out=row)
        row /= row.sum()
    return np.moveaxis(flat.reshape(shape), axis, -1).astype(x.dtype)

dtypes = ("float64", "float32")
