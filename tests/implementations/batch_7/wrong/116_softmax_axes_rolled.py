import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base



def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(1, -1)).reshape(x.shape)
    y = np.swapaxes(x, axis, -1)
    rows = y.reshape(-1, y.shape[-1])
    out = np.empty_like(rows)
    for n, row in enumerate(rows):
        e = np.exp(row - row.max())
        out[n] = e / e.sum()
    return np.moveaxis(out.reshape(y.shape), -1, axis)
