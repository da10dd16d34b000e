import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = base.mask_lengths(query_length, key_length)
    mask = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    output = base.written(mask, additive)
    if additive:  # a row of minus infinity alone would make NaN in a softmax
        output[~mask.any(axis=1)] = 0
    return {"output": output}
