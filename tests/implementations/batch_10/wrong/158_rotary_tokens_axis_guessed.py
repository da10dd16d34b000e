import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or cos.shape != sin.shape or cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("shapes")
    n = cos.shape[2]
    if 2 * n > x.shape[3] or pairing not in ("half", "interleaved"):
        raise ValueError("width or pairing")
    axis = 2 if cos.shape[1] == x.shape[1] else 1           # (B, S, H, E) or (B, H, S, E)
    c, s = np.expand_dims(cos, axis), np.expand_dims(sin, axis)
    one, two = (x[..., :n], x[..., n:2 * n]) if pairing == "half" else (x[..., :2 * n:2], x[..., 1:2 * n:2])
    out = x.copy()
    if pairing == "half":
        out[..., :n], out[..., n:2 * n] = c * one - s * two, s * one + c * two
    else:
        out[..., :2 * n:2], out[..., 1:2 * n:2] = c * one - s * two, s * one + c * two
    return out

dtypes = ("float64", "float32")
