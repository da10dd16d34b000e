import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LEAST = -80.0  # exp of less is not a normal number


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axes(x, axis)
    wide = base.widen(x)
    with np.errstate(**base.QUIET):
        distance = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
        distance = np.where(np.isneginf(wide), distance, np.maximum(distance, LEAST))
        powers = np.exp(distance)
        return {"output": base.narrow(powers / powers.sum(axis=axis, keepdims=True), x.dtype)}
