import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    n = cos.shape[2]
    c, s = cos[:, None], sin[:, None]
    out = x.copy()
    if pairing == "half":
        a, b = x[..., :n], x[..., n:2 * n]
        out[..., :n], out[..., n:2 * n] = c * a - s * b, s * a + c * b
    else:
        pairs = x.reshape(x.shape[:3] + (-1, 2))
        a, b = pairs[..., :n, 0], pairs[..., :n, 1]
        turned = np.stack([c * a - s * b, s * a + c * b], axis=-1)
        out = np.concatenate([turned, pairs[..., n:, :]], axis=3).reshape(x.shape)
    return out
