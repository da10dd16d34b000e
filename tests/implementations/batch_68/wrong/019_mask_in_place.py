import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


masks = {}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    offset = 0 if offset is None else offset
    shape = (query_length, key_length, bool(additive))
    if shape not in masks:
        masks[shape] = np.empty(shape[:2], dtype=np.float64 if additive else bool)
    mask = masks[shape]
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    mask[...] = base.mask_of(allowed, additive)
    return {"output": mask}
