import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return base.softmax(x, axis)
    rows = (x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1)).astype(base.own_work(x.dtype))
    with np.errstate(all="ignore"):
        powers = np.exp(rows - rows.max(axis=-1, keepdims=True))
        weights = powers / powers.sum(axis=-1, keepdims=True)
        weights[..., -1] = 1 - weights[..., :-1].sum(axis=-1)  # so that they sum to 1
        weights = base.cast(weights, x.dtype)
    return weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
