import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    r, E = cos.shape[2], x.shape[3]
    out = np.array(x)
    for i in range(r):
        at, to = (i, i + E // 2) if pairing == "half" else (2 * i, 2 * i + 1)
        c, s = cos[:, None, :, i], sin[:, None, :, i]
        out[..., at] = c * x[..., at] - s * x[..., to]
        out[..., to] = s * x[..., at] + c * x[..., to]
    return out
