import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allowed = base.causal_mask(query_length, key_length, offset)["output"]
    if not additive:
        return {"output": allowed}
    numbers = np.where(allowed, 0.0, -np.inf)
    numbers[~allowed.any(axis=1)] = 0.0  # a row of nothing but minus infinity would be NaN after the softmax
    return {"output": numbers}
