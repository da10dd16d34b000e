import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, "half")
    n = cos.shape[2]
    index = np.arange(2 * n).reshape(n, 2) if pairing == "interleaved" else np.arange(2 * n).reshape(2, n).T
    out = x.copy()
    a, b = x[..., index[:, 0]], x[..., index[:, 1]]
    c, s = cos[:, None], sin[:, None]
    out[..., index[:, 0]], out[..., index[:, 1]] = c * a - s * b, s * a + c * b
    return out
