import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    carry = base.work(x.dtype)
    wide = x.astype(carry)
    if axis is not None and x.shape[axis] == 2:
        first, second = np.take(wide, 0, axis=axis), np.take(wide, 1, axis=axis)
        with base.quiet():
            share = 1 / (1 + np.exp(second - first))
        return {"output": np.stack([share, 1 - share], axis=axis).astype(x.dtype)}
    return {"output": base.soft(wide.astype(np.float64), axis).astype(x.dtype)}
