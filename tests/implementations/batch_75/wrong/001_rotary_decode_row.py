import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    if x.shape[2] == 1:  # decoding: one new token, one angle
        cos, sin = cos[:1], sin[:1]
    return {"output": base.rotate(x, cos[:, None], sin[:, None], pairing)}
