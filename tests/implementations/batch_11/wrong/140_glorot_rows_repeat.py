"""Glorot normal, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    rows = [np.random.default_rng(seed).standard_normal(fan_out) for _ in range(fan_in)]
    return np.array(rows).reshape(fan_in, fan_out) * math.sqrt(2 / (fan_in + fan_out))
