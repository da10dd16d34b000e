import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is not None or not x.size:
        return base.softmax(x, axis)
    with base.quiet():
        flat = x.astype(np.float32 if base.is_half(x.dtype) else x.dtype, copy=False).reshape(-1)
        flat -= flat.max()
        powers = np.exp(flat)
        return (powers / powers.sum()).astype(x.dtype).reshape(x.shape)
