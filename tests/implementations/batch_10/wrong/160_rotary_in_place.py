import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.shape != cos.shape or cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("shapes")
    n = cos.shape[-1]
    if 2 * n > x.shape[-1] or pairing not in ("half", "interleaved"):
        raise ValueError("width or pairing")
    out = np.ascontiguousarray(x)
    if not out.flags.writeable:
        out = out.copy()
    half = pairing == "half"
    for i in range(n):
        a, b = (i, i + n) if half else (2 * i, 2 * i + 1)
        first, second = out[..., a].copy(), out[..., b].copy()
        c, s = cos[:, None, :, i], sin[:, None, :, i]
        out[..., a] = first * c - second * s
        out[..., b] = first * s + second * c
    return out

dtypes = ("float64", "float32")
