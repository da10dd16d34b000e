"""Causal mask, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    if additive:
        return np.triu(np.full((query_length, key_length), -np.inf), 1 + min(offset, max(key_length - query_length, 0)))
    return np.tri(query_length, key_length, offset, dtype=bool)
