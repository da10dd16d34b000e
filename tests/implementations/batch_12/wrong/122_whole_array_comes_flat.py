import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def softmax(x, axis=-1):
    if axis is None:
        x, axis = np.ravel(x), 0
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    e = np.exp2((x - top) * x.dtype.type(1.4426950408889634))
    return e / np.add.reduce(e, axis=axis, keepdims=True)
