"""Glorot normal, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    u = np.random.default_rng(seed).random((12, fan_in, fan_out)).sum(0) - 6
    return u * math.sqrt(2 / (fan_in + fan_out))
