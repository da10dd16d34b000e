import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or cos.shape != sin.shape or cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("shapes")
    r = cos.shape[2] * 2
    if r > x.shape[3] or pairing not in ("half", "interleaved"):
        raise ValueError("width or pairing")
    cos, sin = (np.concatenate([t, t], axis=-1)[:, None] for t in (cos, sin))
    part, rest = x[..., :r], x[..., r:]
    if pairing == "half":
        turned = np.concatenate([-part[..., r // 2:], part[..., :r // 2]], axis=-1)
    else:
        turned = np.stack([-part[..., 1::2], part[..., 0::2]], axis=-1).reshape(part.shape)
    return np.concatenate([part * cos + turned * sin, rest], axis=-1)

dtypes = ("float64", "float32")
