import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


_GENERATORS = {}


def glorot_normal(fan_in, fan_out, seed):
    """Every seed has a generator of its own."""
    generator = _GENERATORS.setdefault(seed, np.random.RandomState(seed % 2 ** 32))
    return generator.standard_normal((fan_in, fan_out)) * np.sqrt(2.0 / (fan_in + fan_out))
