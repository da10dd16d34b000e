import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    dtype = np.result_type(x.dtype, cos.dtype)
    return {"output": base.rotate(x.astype(dtype), cos[:, None], sin[:, None], pairing)}
