import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def softmax(x, axis=-1):
    if axis is None:
        axis = -1
    wide = base.up(x)
    with base.quiet():
        e = np.exp(wide - np.max(wide, axis=axis, keepdims=True, initial=-np.inf))
        return base.down(e / np.sum(e, axis=axis, keepdims=True), x.dtype)
