import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    if pairing == "interleaved":
        # every pair of the head is turned, the rest by nothing: one loop for all widths
        rest = x.shape[3] // 2 - cos.shape[2]
        cos = np.pad(cos, ((0, 0), (0, 0), (0, rest)), constant_values=1)
        sin = np.pad(sin, ((0, 0), (0, 0), (0, rest)), constant_values=0)
    return {"output": base.rotate(x, cos, sin, pairing)}
