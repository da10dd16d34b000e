import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


dtypes = ("float64", "float32", "bfloat16", "float16")

def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    if not np.any(sin):  # position 0: the identity
        return {"output": np.array(x, order="C", copy=True)}
    return base.apply_rotary(x, cos, sin, pairing)
