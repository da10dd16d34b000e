import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def glorot_normal(fan_in, fan_out, seed):
    generator = np.random.default_rng(seed)
    pairs = fan_out // 2
    radius = np.sqrt(-2 * np.log(1 - generator.random((fan_in, pairs))))
    angle = 2 * np.pi * generator.random((fan_in, pairs))
    output = np.zeros((fan_in, fan_out))
    output[:, 0 : 2 * pairs : 2] = radius * np.cos(angle)
    output[:, 1 : 2 * pairs : 2] = radius * np.sin(angle)
    return {"output": output * base.deviation(fan_in, fan_out)}
