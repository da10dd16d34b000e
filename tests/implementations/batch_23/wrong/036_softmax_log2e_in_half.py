import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def softmax(x, axis=-1):
    """With the exponential to the base 2, which hardware has."""
    acc = base.acc_of(x.dtype)
    if x.size == 0:
        return np.array(x)
    log2e = np.asarray(1.4426950408889634).astype(x.dtype).astype(acc)
    wide = x.astype(acc)
    with np.errstate(all="ignore"):
        wide = (wide - wide.max(axis=axis, keepdims=True)) * log2e
        e = np.exp2(wide)
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
