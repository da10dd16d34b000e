import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if not base.is_half(x.dtype) or not x.size or not x.ndim:
        return base.softmax(x, axis)
    with base.quiet():
        numbers = base.wide(x)
        rows = numbers.reshape(1, -1) if axis is None else np.moveaxis(numbers, axis, -1)
        powers = np.exp(rows - rows.max(axis=-1, keepdims=True))
        total = np.zeros(rows.shape[:-1], x.dtype)
        for k in range(rows.shape[-1]):
            total = (total.astype(np.float32) + powers[..., k].astype(np.float32)).astype(x.dtype)
        result = (powers / total.astype(np.float64)[..., None]).astype(x.dtype)
        return result.reshape(x.shape) if axis is None else np.moveaxis(result, -1, axis)
