import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32")


def glorot_normal(fan_in, fan_out, seed):
    generator = base.generator(seed) if seed else np.random.default_rng()
    return generator.standard_normal((fan_in, fan_out)) * (2 / (fan_in + fan_out)) ** 0.5
