import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def along_tokens(x, table):
    # tables belong to the axis that has as many places as they have rows
    return table[:, :, None, :] if x.shape[1] == table.shape[1] else table[:, None, :, :]


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    return {"output": base.turn(x, along_tokens(x, cos), along_tokens(x, sin), pairing)}
