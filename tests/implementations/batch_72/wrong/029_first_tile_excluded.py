import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 8


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axes(x, axis)
    wide = base.widen(x)
    rows = wide.reshape(1, -1) if axis is None else np.moveaxis(wide, axis, -1)
    most = np.full(rows.shape[:-1] + (1,), -np.inf, rows.dtype)
    total = np.zeros_like(most)
    with np.errstate(**base.QUIET):
        for first in range(0, rows.shape[-1], TILE):
            tile = rows[..., first : first + TILE]
            raised = np.maximum(most, tile.max(axis=-1, keepdims=True))
            total = total * np.exp(most - raised) + np.exp(tile - raised).sum(axis=-1, keepdims=True)
            most = raised
        shares = np.exp(rows - most) / total
    shares = shares.reshape(x.shape) if axis is None else np.moveaxis(shares, -1, axis)
    return {"output": base.narrow(shares, x.dtype)}
