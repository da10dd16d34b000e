import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axes(x, axis)
    if axis is None:
        return base.softmax(x, None)
    shares = base.softmax(np.moveaxis(x, axis, -1))["output"]
    return {"output": np.ascontiguousarray(np.moveaxis(shares, axis, -1))}
