import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def glorot_normal(fan_in, fan_out, seed):
    base.check_fans(fan_in, fan_out, seed)
    random = np.random.default_rng(seed)
    return {"output": random.standard_normal((fan_in, fan_out)) / math.sqrt(fan_in)}
