import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def softmax(x, axis=-1):
    acc = base.acc_of(x.dtype)
    a = x.astype(acc)
    if a.size == 0:
        return a.astype(x.dtype)
    if axis is None:
        flat = a.ravel()
        e = np.exp(flat - flat.max())
        return (e / e.sum()).reshape(x.shape).astype(x.dtype)
    if a.ndim == 0:
        return np.ones((), x.dtype)
    axis = axis or a.ndim - 1
    rows = np.moveaxis(a, axis, -1)
    e = np.exp(rows - rows.max(axis=-1, keepdims=True))
    return np.moveaxis(e / e.sum(axis=-1, keepdims=True), -1, axis).astype(x.dtype)
