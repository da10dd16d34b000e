import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("rank")
    if cos.shape != sin.shape or cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2] or 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables")
    r = 2 * cos.shape[2]
    out = np.array(x)
    step = 2 if pairing == "interleaved" else 1
    one = out[..., 0:r:2].copy() if step == 2 else out[..., :r // 2].copy()
    two = out[..., 1:r:2].copy() if step == 2 else out[..., r // 2:r].copy()
    c, s = cos[:, np.newaxis], sin[:, np.newaxis]
    if step == 2:
        out[..., 0:r:2], out[..., 1:r:2] = one * c - two * s, one * s + two * c
    else:
        out[..., :r // 2], out[..., r // 2:r] = one * c - two * s, one * s + two * c
    return out

dtypes = ("float64", "float32")
