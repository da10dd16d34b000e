import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""In chunks of 6 with a running maximum, powers of two of the differences, chunks joined as a tree."""


def joined(one, two):
    top = np.maximum(one[0], two[0])
    anchor = np.where(np.isneginf(top), 0, top)
    return top, one[1] * np.exp(one[0] - anchor) + two[1] * np.exp(two[0] - anchor)


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.ndim == 0 or x.size == 0:
        return base.shares(x, axis)
    wide = base.widen(x)
    rows = wide.reshape(-1) if axis is None else np.moveaxis(wide, axis, -1)
    with np.errstate(all="ignore"):
        states = []
        for begin in range(0, rows.shape[-1], 6):
            part = rows[..., begin : begin + 6]
            top = part.max(axis=-1)
            anchor = np.where(np.isneginf(top), 0, top)[..., None]
            states.append((top, np.exp2((part - anchor) * wide.dtype.type(1.4426950408889634)).sum(axis=-1)))
        while len(states) > 1:
            states = [joined(*states[at : at + 2]) if at + 1 < len(states) else states[at] for at in range(0, len(states), 2)]
        top, total = states[0]
        weights = np.exp(rows - top[..., None]) / total[..., None]
    weights = weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
    return weights.astype(x.dtype)
