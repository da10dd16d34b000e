import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = base.check_lengths(query_length, key_length)
    size = max(query_length, key_length)
    if offset >= 0:
        allowed = np.tri(size, size, dtype=bool)[offset : offset + query_length, :key_length]
    else:
        allowed = np.tri(query_length, key_length, offset, dtype=bool)
    return base.written(allowed.copy(), additive)
