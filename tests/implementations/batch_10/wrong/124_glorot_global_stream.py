import math
import numpy as np


_rng = None


def glorot_normal(fan_in, fan_out, seed):
    global _rng
    if _rng is None:
        _rng = np.random.default_rng(seed)
    return _rng.standard_normal((fan_in, fan_out)) * (2.0 / (fan_in + fan_out)) ** 0.5

dtypes = ("float64", "float32")
