import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


LANES = 8


def row_softmax(row):
    n = len(row)
    whole = n // LANES * LANES
    if whole:
        lanes = row[:whole].reshape(-1, LANES).max(axis=0)  # one running maximum a lane
        top = lanes.max()
    else:
        top = row.max()
    with np.errstate(all="ignore"):
        e = np.exp(row - top)
        return e / e.sum()


def softmax(x, axis=-1):
    a = np.array(x, dtype=base.acc_of(x.dtype))
    if a.size == 0:
        return a.astype(x.dtype)
    if axis is None:
        return row_softmax(a.reshape(-1)).reshape(x.shape).astype(x.dtype)
    if a.ndim == 0:
        return np.ones((), x.dtype)
    return np.apply_along_axis(row_softmax, axis, a).astype(x.dtype)
