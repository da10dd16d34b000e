import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


CHUNK = 32


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return base.shares(x, axis)
    wide = base.widen(x)
    rows = wide.reshape(-1) if axis is None else np.moveaxis(wide, axis, -1)
    length = rows.shape[-1]
    body = length // CHUNK * CHUNK
    with np.errstate(all="ignore"):
        largest = np.full(rows.shape[:-1], -np.inf, rows.dtype)
        total = np.zeros(rows.shape[:-1], rows.dtype)
        for begin in range(0, body, CHUNK):
            part = rows[..., begin : begin + CHUNK]
            higher = np.maximum(largest, part.max(axis=-1))
            anchor = np.where(np.isneginf(higher), 0, higher)
            total = total * np.exp(largest - anchor) + np.exp(part - anchor[..., None]).sum(axis=-1)
            largest = higher
        if body < length:
            part = rows[..., body:]
            higher = np.maximum(largest, part.max(axis=-1))
            total = (total if body else 0) + np.exp(part - higher[..., None]).sum(axis=-1)
            largest = higher
        weights = np.exp(rows - largest[..., None]) / total[..., None]
    weights = weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
    return weights.astype(x.dtype)
