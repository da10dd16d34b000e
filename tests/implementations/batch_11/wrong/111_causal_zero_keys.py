"""Causal mask, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = key_length or query_length
    ok = np.tri(query_length, key_length, offset, dtype=bool)
    return np.where(ok, 0.0, -np.inf) if additive else ok
