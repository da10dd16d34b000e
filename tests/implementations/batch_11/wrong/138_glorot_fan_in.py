"""Glorot normal, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).normal(0, math.sqrt(1 / fan_in), (fan_in, fan_out))
