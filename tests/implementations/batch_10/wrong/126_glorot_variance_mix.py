import math
import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    limit = math.sqrt(6 / (fan_in + fan_out))
    rng = np.random.default_rng(seed)
    draws = sum(rng.uniform(-limit, limit, (fan_in, fan_out)) for _ in range(3)) / math.sqrt(3)
    return draws

dtypes = ("float64", "float32")
