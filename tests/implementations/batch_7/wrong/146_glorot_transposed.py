import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).normal(size=(fan_out, fan_in)) * (2 / (fan_in + fan_out)) ** 0.5
