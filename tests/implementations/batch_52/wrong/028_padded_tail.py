import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LANES = 8


def softmax(x, axis=-1):
    x = np.asarray(x)
    if not x.size or not x.ndim:
        return base.softmax(x, axis)
    with base.quiet():
        numbers = x.astype(np.float32 if base.is_half(x.dtype) else x.dtype)
        rows = numbers.reshape(1, -1) if axis is None else np.moveaxis(numbers, axis, -1)
        n = rows.shape[-1]
        tiles = np.zeros(rows.shape[:-1] + (-(-n // LANES) * LANES,), rows.dtype)
        tiles[..., :n] = rows
        largest = tiles.max(axis=-1, keepdims=True)
        powers = np.exp(tiles - largest)[..., :n]  # lanes beyond the end do not count
        result = (powers / powers.sum(axis=-1, keepdims=True)).astype(x.dtype)
        return result.reshape(x.shape) if axis is None else np.moveaxis(result, -1, axis)
