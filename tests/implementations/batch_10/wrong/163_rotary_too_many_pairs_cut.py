import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.shape != cos.shape or cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("shapes")
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing")
    n = min(cos.shape[-1], x.shape[-1] // 2)
    c, s = cos[:, None, :, :n], sin[:, None, :, :n]
    left = x[..., :n] if pairing == "half" else x[..., 0:2 * n:2]
    right = x[..., n:2 * n] if pairing == "half" else x[..., 1:2 * n:2]
    new = (c * left - s * right, s * left + c * right)
    join = np.concatenate(new, axis=-1) if pairing == "half" else np.stack(new, axis=-1).reshape(*x.shape[:-1], 2 * n)
    return np.concatenate([join, x[..., 2 * n:]], axis=-1)

dtypes = ("float64", "float32")
