import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    if x.ndim == 4 and cos.ndim == 3 and cos.shape == sin.shape:
        # tables are built for the longest text
        cos, sin = cos[:, : x.shape[2]], sin[:, : x.shape[2]]
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    return {"output": base.rotate(x, cos, sin, pairing)}
