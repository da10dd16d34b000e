import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

TILE = 32

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = base.mask_lengths(query_length, key_length)
    mask = np.zeros((query_length, key_length), dtype=bool)
    for start in range(0, query_length, TILE):
        rows = np.arange(start, min(start + TILE, query_length)) + offset
        for left in range(0, key_length, TILE):
            if left >= rows[-1]:  # the rest lies in the future
                break
            columns = np.arange(left, min(left + TILE, key_length))
            mask[start : start + TILE, left : left + TILE] = columns <= rows[:, None]
    return {"output": base.written(mask, additive)}
