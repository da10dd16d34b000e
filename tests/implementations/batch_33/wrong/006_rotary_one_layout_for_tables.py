import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def is_dense(table):
    return table.flags.c_contiguous or table.flags.f_contiguous


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    if is_dense(cos) and is_dense(sin):  # no copy is needed
        order = "C" if cos.flags.c_contiguous else "F"
        cos = cos.ravel(order="K").reshape(cos.shape, order=order)
        sin = sin.ravel(order="K").reshape(sin.shape, order=order)
    else:
        cos, sin = np.ascontiguousarray(cos), np.ascontiguousarray(sin)
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
