import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    base.check_rotary(x, cos, sin, pairing)
    b, h, s, e = x.shape
    one, two = base.pair_slices(cos.shape[2], pairing)
    w = base.wide(x.dtype)
    flat = x.reshape(b * h, s, e)
    c, n = np.repeat(cos.astype(w), h, axis=0), np.repeat(sin.astype(w), h, axis=0)
    first, second = base.turn(flat[..., one].astype(w), flat[..., two].astype(w), c, n)
    output = np.array(x)
    target = output.reshape(b * h, s, e)
    target[..., one] = base.rounded(first, x.dtype)
    target[..., two] = base.rounded(second, x.dtype)
    return {"output": output}
