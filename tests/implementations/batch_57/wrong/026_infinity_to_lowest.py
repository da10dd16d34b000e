import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    import ml_dtypes

    with np.errstate(all="ignore"):
        lowest = float(ml_dtypes.finfo(x.dtype).min)
        numbers = np.maximum(base.wide(x), lowest)  # infinity less infinity is NaN
        powers = np.exp(numbers - np.max(numbers, axis=axis, keepdims=True, initial=-np.inf))
        return base.narrow(powers / np.sum(powers, axis=axis, keepdims=True), x.dtype)
