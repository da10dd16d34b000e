"""A tree: pairs of (largest, sum) are joined two by two; float32 throughout but for float64; powers of two."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def power(distance):
    return np.exp2(distance * distance.dtype.type(1.4426950408889634))


def join(top, total):
    """Halve the last axis."""
    if top.shape[-1] % 2:
        end = top.shape[:-1] + (1,)
        top = np.concatenate([top, np.full(end, -np.inf, dtype=top.dtype)], axis=-1)
        total = np.concatenate([total, np.zeros(end, dtype=top.dtype)], axis=-1)
    left, right = top[..., 0::2], top[..., 1::2]
    high = np.maximum(left, right)
    safe = np.where(np.isneginf(high), high.dtype.type(0), high)
    return high, total[..., 0::2] * power(left - safe) + total[..., 1::2] * power(right - safe)


def softmax(x, axis=-1):
    x = np.asarray(x)
    numbers = x.astype(base.wider(x.dtype))
    rows = numbers.reshape(1, -1) if axis is None else np.moveaxis(numbers, axis, -1)
    if not rows.size:
        return np.empty(x.shape, dtype=x.dtype)
    with np.errstate(all="ignore"):
        top, total = rows, np.ones_like(rows)
        while top.shape[-1] > 1:
            top, total = join(top, total)
        weights = power(rows - top) / total
    weights = weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
    return np.ascontiguousarray(base.narrow(weights, x.dtype)).reshape(x.shape)
