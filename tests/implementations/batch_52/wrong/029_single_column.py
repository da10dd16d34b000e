import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.ndim and x.shape[-1] == 1:  # an only number has all the weight
        return np.ones_like(x, order="C")
    return base.softmax(x, axis)
