"""Softmax, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def _row(x):
    m, total = -np.inf, x.dtype.type(0)
    for start in range(0, len(x), 64):
        block = x[start:start + 64]
        top = block.max() if len(x) > 64 else max(m, block.max())
        total = total * np.exp(x.dtype.type(m - top if m > -np.inf else 0)) + np.exp(block - top).sum()
        m = top
    return np.exp(x - m) / total


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    if not x.size:
        return x.copy()
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(np.apply_along_axis(_row, axis, x)).astype(x.dtype)
