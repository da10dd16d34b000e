import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base



def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    finite = x[np.isfinite(x)]
    if finite.size and np.abs(finite).max() > 700:
        x = x - x.max(axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return e / e.sum(axis=axis, keepdims=True)
