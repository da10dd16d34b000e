import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    out = x.copy()
    r = cos.shape[2]
    c, s = cos[:, None], sin[:, None]
    if pairing == "half":
        a, b = out[..., :r], out[..., r:2 * r]
    else:
        a, b = out[..., 0:2 * r:2].copy(), out[..., 1:2 * r:2].copy()
    first = c * a - s * b
    if pairing == "half":
        a[...] = first
    second = s * a + c * b
    if pairing == "half":
        b[...] = second
    else:
        out[..., 0:2 * r:2], out[..., 1:2 * r:2] = first, second
    return out
