import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base



def softmax(x, axis=-1):
    y = np.asarray(x)
    if y.flags.writeable and y.dtype.kind == "f" and y.ndim:
        y -= y.max(axis=axis, keepdims=True)
    else:
        y = y - y.max(axis=axis, keepdims=True)
    e = np.exp(y)
    return e / e.sum(axis=axis, keepdims=True)
