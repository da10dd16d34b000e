"""Softmax, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    rows = np.moveaxis(x, axis, -1)
    with np.errstate(all="ignore"):
        e = np.exp(rows - rows.max(-1, keepdims=True, initial=-np.inf))
        e = e / e.sum(-1, keepdims=True)
    return np.ascontiguousarray(np.swapaxes(e, axis, -1))
