import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is not None and x.ndim and x.shape[axis] == 2:
        numbers = np.moveaxis(x.astype(base.wider(x.dtype)), axis, -1)
        with np.errstate(all="ignore"):
            second = 1 / (1 + np.exp(numbers[..., 0] - numbers[..., 1]))
        weights = np.stack([1 - second, second], axis=-1)
        return base.narrow(np.moveaxis(weights, -1, axis), x.dtype)
    return base.softmax(x, axis)
