import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    n = cos.shape[2]
    out = x.copy()
    a, b = (out[..., :n], out[..., n:2 * n]) if pairing == "half" else (out[..., :2 * n:2].copy(), out[..., 1:2 * n:2].copy())
    c, s = cos[:, None], sin[:, None]
    first = c * a - s * b
    if pairing == "half":
        a[...] = first
        b[...] = s * a + c * b
    else:
        out[..., :2 * n:2], out[..., 1:2 * n:2] = first, s * a + c * b
    return out
