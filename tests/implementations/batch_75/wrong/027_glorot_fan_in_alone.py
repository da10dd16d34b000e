import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def glorot_normal(fan_in, fan_out, seed):
    return {"output": np.random.default_rng(seed).normal(0.0, (1.0 / fan_in) ** 0.5, size=(fan_in, fan_out))}
