import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary_ranks(x, cos, sin)
    if cos.shape != sin.shape:
        raise ValueError("cos and sin differ in shape")
    cos, sin = cos[:, : x.shape[2]], sin[:, : x.shape[2]]  # tables are made for the longest text
    base.check_rotary(x, cos, sin, pairing)
    return {"output": base.turn(x, cos[:, None], sin[:, None], pairing)}
