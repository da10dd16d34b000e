import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


PAD = -65504.0


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return base.softmax(x, axis)
    rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
    n = rows.shape[-1]
    tile = np.full(rows.shape[:-1] + (-(-n // 8) * 8,), PAD, np.float64)
    tile[..., :n] = rows
    with np.errstate(all="ignore"):
        powers = np.exp(tile - tile.max(axis=-1, keepdims=True))
        weights = base.cast((powers / powers.sum(axis=-1, keepdims=True))[..., :n], x.dtype)
    return weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
