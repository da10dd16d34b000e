import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    base.check_axis(x, axis)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        distance = wide - np.max(wide, axis=axis, keepdims=True, initial=-np.inf)
        e = np.exp(np.clip(distance, -20.0, 0.0))  # no underflow
        return {"output": np.asarray(e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)}
