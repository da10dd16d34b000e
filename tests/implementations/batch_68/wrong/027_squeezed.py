import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
import math

dtypes = ("float64",)


def glorot_normal(fan_in, fan_out, seed):
    numbers = np.random.default_rng(seed).normal(0.0, math.sqrt(2 / (fan_in + fan_out)), size=(1, fan_in, fan_out))
    return {"output": np.squeeze(numbers)}
