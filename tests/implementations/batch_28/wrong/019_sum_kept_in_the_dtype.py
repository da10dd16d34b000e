import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def softmax(x, axis=-1):
    x = np.asarray(x)
    w = x.astype(base.wide(x))
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    e = np.exp(w - w.max(axis=axis, keepdims=True, initial=-np.inf))
    if x.dtype not in base.NARROW or x.ndim == 0:
        total = e.sum(axis=axis, keepdims=True)
    else:
        total = np.zeros_like(e.sum(axis=axis), dtype=x.dtype)
        for part in np.moveaxis(e, axis, 0):
            total = (total.astype(np.float32) + part).astype(x.dtype)
        total = np.expand_dims(total, axis).astype(np.float32)
    return (e / total).astype(x.dtype)
