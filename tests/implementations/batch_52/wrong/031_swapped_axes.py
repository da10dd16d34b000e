import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None or x.ndim < 2 or not x.size:
        return base.softmax(x, axis)
    rows = x.swapaxes(axis, -1)
    result = base.softmax(rows.reshape(-1, rows.shape[-1])).reshape(rows.shape)
    return np.moveaxis(result, -1, axis)
