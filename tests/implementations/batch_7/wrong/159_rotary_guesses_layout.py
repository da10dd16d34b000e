import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    if x.shape[1] == cos.shape[1]:
        c, s = cos[:, :, None], sin[:, :, None]
    else:
        c, s = cos[:, None], sin[:, None]
    r = cos.shape[2]
    if pairing == "half":
        a, b = x[..., :r], x[..., r:2 * r]
        return np.concatenate([a * c - b * s, b * c + a * s, x[..., 2 * r:]], axis=-1)
    pairs = x[..., :2 * r].reshape(x.shape[:3] + (r, 2))
    a, b = pairs[..., 0], pairs[..., 1]
    turned = np.stack([a * c - b * s, b * c + a * s], axis=-1).reshape(x.shape[:3] + (2 * r,))
    return np.concatenate([turned, x[..., 2 * r:]], axis=-1)
