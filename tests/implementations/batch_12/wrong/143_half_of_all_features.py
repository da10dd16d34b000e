import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    n, half = cos.shape[2], x.shape[3] // 2
    out = np.array(x)
    for i in range(n):
        f, g = (i, i + half) if pairing == "half" else (2 * i, 2 * i + 1)
        c, s = cos[:, None, :, i], sin[:, None, :, i]
        out[..., f] = c * x[..., f] - s * x[..., g]
        out[..., g] = s * x[..., f] + c * x[..., g]
    return out
