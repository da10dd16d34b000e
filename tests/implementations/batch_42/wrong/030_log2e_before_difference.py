import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


import math


def softmax(x, axis=-1):
    x = np.asarray(x)
    wide = base.widen(x)
    half = wide.dtype.type(0.5)
    with np.errstate(all="ignore"):
        # powers of two are cheaper; numbers that would overflow are left to the other path
        if wide.size and np.nanmax(np.abs(np.where(np.isinf(wide), 0, wide))) > half * np.finfo(wide.dtype).max:
            return base.shares(x, axis)
        powers = wide * wide.dtype.type(math.log2(math.e))
        powers = np.exp2(powers - powers.max(axis=axis, keepdims=True, initial=-np.inf))
        return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)
