import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    mask = np.zeros((query_length, key_length), bool)
    for i in range(query_length):
        mask[i, :i + 1 + max(offset, 0)] = True
    return np.where(mask, 0.0, -np.inf) if additive else mask
