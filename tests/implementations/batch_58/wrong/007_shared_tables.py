import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    if x.shape[0] > 1 and np.array_equal(cos, np.broadcast_to(cos[:1], cos.shape)):
        # all batch entries have the same positions: one table serves them all
        cos, sin = np.broadcast_to(cos[:1], cos.shape), np.broadcast_to(sin[:1], sin.shape)
    return base.apply_rotary(x, cos, sin, pairing)
