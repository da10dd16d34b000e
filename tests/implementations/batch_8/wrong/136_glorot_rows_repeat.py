import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    half = -(-fan_in // 2)
    top = np.random.default_rng(seed).standard_normal((half, fan_out))
    return np.concatenate([top, -top])[:fan_in] * np.sqrt(2 / (fan_in + fan_out))

dtypes = ("float64", "float32")
