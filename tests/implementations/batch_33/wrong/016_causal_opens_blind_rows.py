import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    mask = base.causal_mask(query_length, key_length, offset, additive)["output"]
    if additive and mask.shape[1]:
        blind = np.isneginf(mask).all(axis=-1, keepdims=True)
        mask = np.where(blind, 0.0, mask)
    return {"output": mask}
