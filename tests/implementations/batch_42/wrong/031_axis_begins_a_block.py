import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None or x.ndim < 2 or x.size == 0:
        return base.shares(x, axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError("axis")
    axis %= x.ndim
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    return base.shares(x.reshape(rows, -1), -1).reshape(x.shape)
