import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    # (B, S, H, E) has its tokens where the tables have theirs
    axis = 2 if x.shape[1] == cos.shape[1] else 1
    return {"output": base.rotate(x, np.expand_dims(cos, axis), np.expand_dims(sin, axis), pairing)}
