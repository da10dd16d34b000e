import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    axis = 2 if x.shape[1] == cos.shape[1] else 1  # tokens first, or heads first
    return {"output": base.rotate(x, np.expand_dims(cos, axis), np.expand_dims(sin, axis), pairing)}
