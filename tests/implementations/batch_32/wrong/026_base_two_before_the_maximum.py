"""Numbers are multiplied by log2(e) before the largest is subtracted, so that the largest numbers overflow."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

LOG2E = 1.4426950408889634


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x)
    with np.errstate(all="ignore"):
        work = base.work_dtype(x)
        y = x.astype(work) * work(LOG2E)
        e = np.exp2(y - y.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
