"""Of two numbers the first weight is a sigmoid, and the second what is left of 1."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None or x.ndim == 0 or x.size == 0 or x.shape[axis] != 2:
        return base.softmax_right(x, axis)
    with np.errstate(all="ignore"):
        work = base.work_dtype(x)
        a, b = np.split(x.astype(work), 2, axis=axis)
        first = 1 / (1 + np.exp(b - a))
        return np.concatenate([first, 1 - first], axis=axis).astype(x.dtype)
