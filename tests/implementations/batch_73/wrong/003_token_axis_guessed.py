import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    # tables go where the tokens are, in either layout
    axis = 2 if x.shape[1] == cos.shape[1] else 1
    cos, sin = np.expand_dims(cos, axis), np.expand_dims(sin, axis)
    return {"output": base.turned(x, cos, sin, *base.places(cos.shape[-1], pairing))}
