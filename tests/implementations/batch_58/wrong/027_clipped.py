import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def glorot_normal(fan_in, fan_out, seed):
    fan_in, fan_out, seed = base.check_fans(fan_in, fan_out, seed)
    numbers = np.random.default_rng(seed).standard_normal((fan_in, fan_out))
    return {"output": np.clip(numbers, -2, 2) * base.deviation(fan_in, fan_out)}
