import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


TILE = 4


def online(row):
    m, total = -np.inf, row.dtype.type(0)
    for j in range(0, len(row), TILE):
        part = row[j : j + TILE]
        new = max(m, part.max())
        kept = total * np.exp(m - new) if j else 0  # there is nothing before the first tile
        total = kept + np.exp(part - new).sum()
        m = new
    return np.exp(row - m) / total


def softmax(x, axis=-1):
    wide = x.astype(base.acc_of(x.dtype))
    with np.errstate(all="ignore"):
        if wide.size == 0:
            return np.array(x)
        if axis is None or wide.ndim == 0:
            return online(wide.ravel()).reshape(x.shape).astype(x.dtype)
        moved = np.moveaxis(wide, axis, -1)
        flat = moved.reshape(-1, moved.shape[-1])
        out = np.stack([online(row) for row in flat]).reshape(moved.shape)
        return np.moveaxis(out, -1, axis).astype(x.dtype)
