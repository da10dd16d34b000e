import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    keys = query_length if key_length is None else key_length
    if query_length == 1 and keys > 1:  # decoding: the new token comes last
        return base.written(np.ones((1, keys), bool), additive)
    return base.causal_mask(query_length, key_length, offset, additive)
