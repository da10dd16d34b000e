"""Softmax with a running maximum over slices of the axis; float64 sum in pairs."""
import numpy as np


def softmax(x, axis=-1):
    shape, dtype = x.shape, x.dtype
    if axis is None:
        rows = x.reshape(1, -1)
    else:
        rows = np.moveaxis(x, axis, -1)
    m = np.full(rows.shape[:-1], -np.inf, dtype)
    z = np.zeros(rows.shape[:-1], dtype)
    for n in range(rows.shape[-1]):
        new = np.maximum(m, rows[..., n])
        z = z * np.exp(np.where(m == new, 0, m - new)).astype(dtype) + np.exp(np.where(rows[..., n] == new, 0, rows[..., n] - new)).astype(dtype)
        m = new
    out = np.exp(rows - m[..., None]) / z[..., None]
    return out.reshape(shape) if axis is None else np.moveaxis(out, -1, axis)

dtypes = ("float64", "float32")
