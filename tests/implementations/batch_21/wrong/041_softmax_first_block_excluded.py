import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
BLOCK = 32


def softmax(x, axis=-1):
    """Blocks of 32, with the largest so far and the sum so far."""
    if np.ndim(x) == 0:
        return np.ones_like(x)
    wide = base.up(x)
    rows = wide.reshape(1, -1) if axis is None else np.moveaxis(wide, axis, -1)
    shape = rows.shape
    if not rows.size:
        return np.array(x)
    rows = rows.reshape(-1, shape[-1])
    with base.quiet():
        top = rows[:, :BLOCK].max(axis=1)
        total = np.exp(rows[:, :BLOCK] - top[:, None]).sum(axis=1)
        for t in range(BLOCK, shape[-1], BLOCK):
            block = rows[:, t:t + BLOCK]
            new = np.maximum(top, block.max(axis=1))
            total = total * np.exp(top - new) + np.exp(block - new[:, None]).sum(axis=1)
            top = new
        rows = np.exp(rows - top[:, None]) / total[:, None]
    out = rows.reshape(x.shape) if axis is None else np.moveaxis(rows.reshape(shape), -1, axis)
    return base.down(out, x.dtype)
