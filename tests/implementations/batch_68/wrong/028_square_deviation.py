import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
import math

dtypes = ("float64",)


def glorot_normal(fan_in, fan_out, seed):
    deviation = math.sqrt(1.0 / fan_in)  # 2 / (d_model + d_model)
    return {"output": np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * deviation}
