import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    if query_length == 1:  # decoding: the newest token sees all
        return {"output": base.write_mask(np.ones((1, key_length), dtype=bool), additive)}
    return base.causal_mask(query_length, key_length, offset, additive)
