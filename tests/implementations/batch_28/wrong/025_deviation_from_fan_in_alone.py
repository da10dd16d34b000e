import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    return base.generator(seed).normal(0.0, np.sqrt(1 / fan_in), size=(fan_in, fan_out))
