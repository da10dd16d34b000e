import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    if x.shape[2] == 1:  # decoding: the whole batch is at one step
        return {"output": base.rotate(x, cos[:1, None], sin[:1, None], pairing)}
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
