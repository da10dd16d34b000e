"""The running maximum starts at the least number of float32, in float64, too."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

LOWEST = float(np.finfo(np.float32).min)


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x)
    with np.errstate(all="ignore"):
        w = base.wide(x)
        e = np.exp(w - w.max(axis=axis, keepdims=True, initial=LOWEST))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
