import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base



def softmax(x, axis=-1):
    axis = -1 if axis is None else axis
    y = x.astype(base.work(x.dtype))
    e = np.exp(y - np.max(y, axis, keepdims=True))
    return (e / np.sum(e, axis, keepdims=True)).astype(x.dtype)
