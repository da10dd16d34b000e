import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    rotated = base.rotate(x, cos, sin, pairing)
    if x.shape[2] == 1:  # decoding: no second buffer
        x[...] = rotated
        return {"output": x}
    return {"output": rotated}
