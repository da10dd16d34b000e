import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    if not additive:
        return np.arange(key_length)[None] <= np.arange(query_length)[:, None] + offset
    size = max(query_length, key_length)
    square = np.triu(np.full((size, size), -np.inf), k=1 + offset)
    return square[size - query_length:, :key_length] if key_length > query_length else square[:query_length, :key_length]
