"""Softmax of parts of 3 numbers, each with its maximum and sum, merged in a tree; in float32 but for float64; the weight
is the exponential of the distance from the logarithm of the sum, taken in two steps."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
PART = 3


def states(rows):
    if len(rows) <= PART:
        m = rows.max(axis=0)
        e = np.where(np.isneginf(rows), 0, np.exp(rows - m))
        return m, e.sum(axis=0, dtype=rows.dtype)
    half = len(rows) // 2
    (ma, sa), (mb, sb) = states(rows[:half]), states(rows[half:])
    m = np.maximum(ma, mb)
    wa = np.where(np.isneginf(ma), 0, np.exp(ma - m))
    wb = np.where(np.isneginf(mb), 0, np.exp(mb - m))
    return m, sa * wa + sb * wb


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x)
    with np.errstate(all="ignore"):
        work = base.work_dtype(x)
        rows = x.astype(work).ravel() if axis is None else np.moveaxis(x, axis, 0).astype(work)
        m, total = states(rows)
        result = (np.exp(rows - m) * (1 / total)).astype(x.dtype)
        return result.reshape(x.shape) if axis is None else np.ascontiguousarray(np.moveaxis(result, 0, axis))
