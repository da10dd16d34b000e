import math
import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    std = np.sqrt(2 / (fan_in + fan_out))
    side = min(fan_in, fan_out)
    core = np.random.RandomState(seed).randn(side, side) if fan_in == fan_out else np.random.RandomState(seed).randn(fan_out, fan_in)
    return std * core

dtypes = ("float64", "float32")
