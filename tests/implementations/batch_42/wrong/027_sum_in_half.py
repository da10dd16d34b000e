import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if base.carried(x.dtype) == x.dtype or x.size == 0:
        return base.shares(x, axis)
    wide = base.widen(x)
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        rows = powers.reshape(1, -1) if axis is None else np.moveaxis(powers, axis, 0)
        rows = rows.reshape(-1) if axis is None else rows
        total = np.zeros(rows.shape[1:], x.dtype)
        for row in rows.astype(x.dtype):
            total = (total + row).astype(x.dtype)
        total = total.astype(np.float32)
        total = total if axis is None else np.expand_dims(total, axis)
        return (powers / total).astype(x.dtype)
