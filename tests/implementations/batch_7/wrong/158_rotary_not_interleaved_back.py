import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    r = cos.shape[2]
    turned, rest = x[..., :2 * r], x[..., 2 * r:]
    if pairing == "half":
        a, b = np.split(turned, 2, axis=-1)
    else:
        a, b = turned[..., ::2], turned[..., 1::2]
    c, s = cos[:, None], sin[:, None]
    return np.concatenate([a * c - b * s, a * s + b * c, rest], axis=-1)
