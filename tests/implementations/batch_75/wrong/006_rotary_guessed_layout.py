import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    # tables go along whichever axis has as many entries as they have tokens
    axis = 2 if cos.shape[1] == x.shape[1] else 1
    return {"output": base.rotate(x, np.expand_dims(cos, axis), np.expand_dims(sin, axis), pairing)}
