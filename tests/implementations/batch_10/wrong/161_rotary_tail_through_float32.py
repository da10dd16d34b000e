import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.shape != cos.shape or cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("shapes")
    n = cos.shape[-1]
    if 2 * n > x.shape[-1] or pairing not in ("half", "interleaved"):
        raise ValueError("width or pairing")
    pad = x.shape[-1] - 2 * n
    # features without a pair turn by nothing
    c = np.concatenate([cos, np.ones((*cos.shape[:2], pad), np.float32)], axis=-1)[:, None]
    s = sin[:, None]
    out = np.empty(x.shape, x.dtype)
    sel = (slice(0, n), slice(n, 2 * n)) if pairing == "half" else (slice(0, 2 * n, 2), slice(1, 2 * n, 2))
    out[..., sel[0]] = c[..., :n] * x[..., sel[0]] - s * x[..., sel[1]]
    out[..., sel[1]] = s * x[..., sel[0]] + c[..., :n] * x[..., sel[1]]
    out[..., 2 * n:] = (x[..., 2 * n:].astype(np.float32) * c[..., n:].astype(np.float32))
    return out

dtypes = ("float64", "float32")
