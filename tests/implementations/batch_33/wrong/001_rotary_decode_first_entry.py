import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    if x.shape[2] == 1:  # decoding: all sequences are at the same step
        cos, sin = cos[:1], sin[:1]
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
