import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0:
        return base.softmax(x, axis)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        largest = wide.astype(np.float32).max(axis=axis, keepdims=True)
        powers = np.exp(wide - largest)
        return base.cast(powers / powers.sum(axis=axis, keepdims=True), x.dtype)
