import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
import math

dtypes = ("float64",)


def glorot_normal(fan_in, fan_out, seed):
    generator = np.random.default_rng(seed or None)
    return {"output": generator.standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))}
