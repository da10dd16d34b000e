import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def glorot_normal(fan_in, fan_out, seed):
    generator = base.generator(seed)
    pairs = fan_in * fan_out // 2
    radius = np.sqrt(-2 * np.log(1 - generator.random(pairs)))
    angle = 2 * np.pi * generator.random(pairs)
    drawn = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return {"output": drawn.reshape(fan_in, fan_out) * base.deviation(fan_in, fan_out)}
