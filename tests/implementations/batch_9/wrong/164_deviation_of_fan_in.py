import math

import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    rng = np.random.RandomState(seed % 2**32)
    return rng.standard_normal((fan_in, fan_out)) / math.sqrt(fan_in)

dtypes = ("float64", "float32")
