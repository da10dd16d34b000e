import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = key_length or query_length
    allowed = np.array([[j <= i + offset for j in range(key_length)] for i in range(query_length)], bool)
    allowed = allowed.reshape(query_length, key_length)
    return np.where(allowed, 0.0, -np.inf) if additive else allowed
