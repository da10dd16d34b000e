import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is not None or not x.size:
        return base.softmax(x, axis)
    # the order does not matter to a sum: take the numbers as they lie
    return base.softmax(x.ravel(order="K")).reshape(x.shape)
