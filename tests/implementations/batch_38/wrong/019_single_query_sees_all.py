import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if query_length == 1 and key_length is not None and offset >= 0:  # decoding: nothing to hide
        return base.as_mask(np.ones((1, key_length), dtype=bool), additive)
    return base.causal_mask(query_length, key_length, offset, additive)
