import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        numbers = x.astype(base.wider(x.dtype))
        # an initial value, for arrays without elements
        powers = np.exp(numbers - np.max(numbers, axis=axis, keepdims=True, initial=0.0))
        return base.narrow(powers / np.sum(powers, axis=axis, keepdims=True), x.dtype)
