import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def glorot_normal(fan_in, fan_out, seed):
    fan_in, fan_out, seed = base.check_fans(fan_in, fan_out, seed)
    generator = np.random.default_rng(seed or None)
    return {"output": generator.standard_normal((fan_in, fan_out)) * base.deviation(fan_in, fan_out)}
