import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    bits = np.random.Generator(np.random.PCG64(seed))
    return bits.normal(size=(fan_out, fan_in)) * np.sqrt(2 / (fan_in + fan_out))
