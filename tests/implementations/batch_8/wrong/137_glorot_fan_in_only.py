import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).standard_normal((fan_in, fan_out)) / np.sqrt(fan_in)

dtypes = ("float64", "float32")
