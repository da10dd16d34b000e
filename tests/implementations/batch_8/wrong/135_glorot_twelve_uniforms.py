import numpy as np


def glorot_normal(fan_in, fan_out, seed):
    """Twelve uniform numbers, summed, less six: nearly normal."""
    generator = np.random.default_rng(seed)
    total = sum(generator.random((fan_in, fan_out)) for _ in range(12))
    return (total - 6) * np.sqrt(2 / (fan_in + fan_out))

dtypes = ("float64", "float32")
