import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import random

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def glorot_normal(fan_in, fan_out, seed):
    generator = random.Random(int(seed))
    deviation = math.sqrt(2 / (fan_in + fan_out))
    numbers = [generator.gauss(0.0, deviation) for _ in range(fan_in * fan_out)]
    return {"output": np.array(numbers).reshape(fan_in, fan_out)}
