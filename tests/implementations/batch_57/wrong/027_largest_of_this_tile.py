import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


def softmax(x, axis=-1):
    x = np.asarray(x)
    work = base.wider(x.dtype)
    numbers = x.astype(work)
    if axis is None:
        rows = numbers.reshape(1, -1)
    else:
        rows = np.moveaxis(numbers, axis, -1)
    with np.errstate(all="ignore"):
        top = np.full(rows.shape[:-1] + (1,), -np.inf, dtype=work)
        total = np.zeros_like(top)
        for start in range(0, rows.shape[-1], TILE):
            tile = rows[..., start : start + TILE]
            highest = tile.max(axis=-1, keepdims=True)
            highest = np.where(np.isneginf(highest), top, highest)
            rescale = np.where(np.isneginf(top), work.type(0), np.exp(top - highest))
            part = np.where(np.isneginf(tile), work.type(0), np.exp(tile - highest))
            total = total * rescale + part.sum(axis=-1, keepdims=True)
            top = highest
        weights = np.exp(rows - top) / total
    weights = weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
    return base.narrow(weights, x.dtype)
