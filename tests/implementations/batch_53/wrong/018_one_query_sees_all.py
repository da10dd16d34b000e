import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = base.check_lengths(query_length, key_length)
    if query_length == 1:  # decoding: everything lies in the past
        return base.written(np.ones((1, key_length), dtype=bool), additive)
    return base.causal_mask(query_length, key_length, offset, additive)
