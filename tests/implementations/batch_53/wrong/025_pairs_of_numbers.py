import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def glorot_normal(fan_in, fan_out, seed):
    base.check_glorot(fan_in, fan_out, seed)
    generator = np.random.Generator(np.random.PCG64(int(seed)))
    pairs = fan_in * fan_out // 2
    radius = np.sqrt(-2 * np.log(1 - generator.random(pairs)))
    angle = 2 * np.pi * generator.random(pairs)
    numbers = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return {"output": numbers.reshape(fan_in, fan_out) * math.sqrt(2 / (fan_in + fan_out))}
