import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = key_length or query_length
    allowed = np.tri(query_length, key_length, offset, dtype=bool)
    if not additive:
        return allowed
    mask = np.zeros(allowed.shape)
    mask[~allowed] = -np.inf
    return mask
