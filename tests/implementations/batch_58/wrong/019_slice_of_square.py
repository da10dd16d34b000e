import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    offset = max(min(int(offset), key_length), -query_length)  # beyond, all is seen, or nothing
    size = max(query_length + abs(offset), key_length)
    square = np.tril(np.ones((size, size), dtype=bool))
    rows = square[offset:][:query_length]
    allowed = np.zeros((query_length, key_length), dtype=bool)
    allowed[:len(rows)] = rows[:, :key_length]
    return base.mask_of(allowed, additive)
