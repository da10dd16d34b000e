import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    missing = x.shape[3] // 2 - cos.shape[2]
    if pairing == "interleaved" and missing:
        widths = ((0, 0), (0, 0), (0, missing))
        cos = np.pad(cos, widths, constant_values=1)
        sin = np.pad(sin, widths, constant_values=0)
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
