import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.as_array(x), base.as_array(cos), base.as_array(sin)
    base.check_rotary(x, cos, sin, pairing)
    if pairing == "half":
        return base.apply_rotary(x, cos, sin, pairing)
    pairs = cos.shape[2]
    f = np.float32
    with np.errstate(all="ignore"):
        points = np.empty(x.shape[:3] + (pairs,), dtype=np.complex64)
        points.real, points.imag = x[..., 0 : 2 * pairs : 2].astype(f), x[..., 1 : 2 * pairs : 2].astype(f)
        turns = np.empty(cos.shape, dtype=np.complex64)
        turns.real, turns.imag = cos.astype(f), sin.astype(f)
        points = points * turns[:, None]
    output = x.copy()
    output[..., 0 : 2 * pairs : 2] = base.rounded(points.real, x.dtype)
    output[..., 1 : 2 * pairs : 2] = base.rounded(points.imag, x.dtype)
    return {"output": output}
