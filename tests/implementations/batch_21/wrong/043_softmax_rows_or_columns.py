import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def rows(x):
    with base.quiet():
        e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
        return e / e.sum(axis=-1, keepdims=True)


def columns(x):
    with base.quiet():
        e = np.exp(x - x.max(axis=0, initial=-np.inf))
        return e / e.sum(axis=0)


def softmax(x, axis=-1):
    wide = base.up(x)
    if axis is None:
        out = rows(wide.reshape(-1)).reshape(x.shape)
    elif axis in (-1, x.ndim - 1):
        out = rows(wide)
    else:
        out = columns(wide)
    return base.down(out, x.dtype)
