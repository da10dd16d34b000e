import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).normal(0.0, 2.0 / (fan_in + fan_out), size=(fan_in, fan_out))
