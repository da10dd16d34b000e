import math
import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, math.sqrt(1.0 / fan_in), size=(fan_in, fan_out))

dtypes = ("float64", "float32")
