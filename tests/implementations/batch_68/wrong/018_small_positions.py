import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    offset = 0 if offset is None else offset
    small = np.int8 if max(query_length, key_length) <= 127 else np.int64  # a byte is enough for short texts
    queries = (np.arange(query_length) + offset).astype(small)
    keys = np.arange(key_length).astype(small)
    return {"output": base.mask_of(keys[None, :] <= queries[:, None], additive)}
