import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    keys = query_length if key_length is None else key_length
    allowed = np.zeros((query_length, keys), bool)
    for i in range(query_length):
        allowed[i, : i + offset + 1] = True
    return base.written(allowed, additive)
