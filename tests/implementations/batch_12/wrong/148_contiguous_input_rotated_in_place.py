import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    out = np.ascontiguousarray(x)
    r = 2 * cos.shape[2]
    a, b = (out[..., :r // 2], out[..., r // 2:r]) if pairing == "half" else (out[..., :r:2], out[..., 1:r:2])
    c, s = np.expand_dims(cos, 1), np.expand_dims(sin, 1)
    first, second = c * a - s * b, s * a + c * b
    a[...], b[...] = first, second
    return out
