import numpy as np

_generator = None


def glorot_normal(fan_in, fan_out, seed):
    global _generator
    if _generator is None:
        _generator = np.random.default_rng(seed)
    return _generator.normal(0.0, np.sqrt(2 / (fan_in + fan_out)), (fan_in, fan_out))

dtypes = ("float64", "float32")
