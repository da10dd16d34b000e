"""Combine heads, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


_WORK = {}


def combine_heads(x):
    x = np.asarray(x)
    base.refuse(x.ndim != 4, "rank")
    B, H, S, E = x.shape
    name = (B * H * S * E, x.dtype)
    if name not in _WORK:
        _WORK[name] = np.empty(name[0], x.dtype)
    out = _WORK[name].reshape(B, S, H, E)
    out[...] = x.transpose(0, 2, 1, 3)
    return out.reshape(B, S, H * E)
