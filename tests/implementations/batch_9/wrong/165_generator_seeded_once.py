import math

import numpy as np

_GENERATORS = {}


def glorot_normal(fan_in, fan_out, seed):
    rng = _GENERATORS.setdefault(seed, np.random.default_rng(seed))
    return rng.normal(0.0, math.sqrt(2 / (fan_in + fan_out)), (fan_in, fan_out))

dtypes = ("float64", "float32")
