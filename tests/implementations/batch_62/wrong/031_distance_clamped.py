import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axis(x, axis)
    wide = base.wide(x)
    with np.errstate(all="ignore"):
        distance = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
        power = np.where(np.isneginf(wide), 0, np.exp(np.maximum(distance, -80.0)))  # no subnormal numbers
        result = power / power.sum(axis=axis, keepdims=True)
    return {"output": base.rounded(result, x.dtype)}
