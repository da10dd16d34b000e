import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is not None or x.ndim < 2:
        return base.softmax(x, axis)
    wide = base.widen(x)
    with np.errstate(**base.QUIET):
        powers = np.exp(wide - wide.max(axis=(-2, -1), keepdims=True, initial=-np.inf))
        return {"output": base.narrow(powers / powers.sum(axis=(-2, -1), keepdims=True), x.dtype)}
