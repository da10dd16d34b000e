import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    # NumPy has a float16 of its own; bfloat16 alone needs to be widened
    dtype = x.dtype if x.dtype.name in ("float64", "float32", "float16") else np.dtype(np.float32)
    one, two = base.pair_places(cos.shape[-1], pairing)
    first, second = x[..., one].astype(dtype), x[..., two].astype(dtype)
    cos, sin = cos[:, None].astype(dtype), sin[:, None].astype(dtype)
    output = np.array(x, order="C", copy=True)
    with np.errstate(all="ignore"):
        output[..., one] = (cos * first - sin * second).astype(x.dtype)
        output[..., two] = (sin * first + cos * second).astype(x.dtype)
    return {"output": output}
