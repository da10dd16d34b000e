import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base



def softmax(x, axis=-1):
    if axis is None:
        flat = softmax(np.ravel(x), 0)
        return flat.reshape(x.shape)
    moved = np.moveaxis(x, axis, 0)
    top = moved[0]
    for row in moved[1:]:
        top = np.maximum(top, row)
    total = 0
    parts = []
    for row in moved:
        parts.append(np.exp(np.maximum(row - top, x.dtype.type(-20))))
        total = total + parts[-1]
    return np.moveaxis(np.stack([part / total for part in parts]), 0, axis)
