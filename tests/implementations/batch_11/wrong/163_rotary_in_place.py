"""Apply rotary, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    P = cos.shape[2]
    out = x if x.flags.writeable else x.copy()
    c, s = cos[:, None], sin[:, None]
    with np.errstate(all="ignore"):
        for i in range(P):
            one, two = (i, i + P) if pairing == "half" else (2 * i, 2 * i + 1)
            a, b = x[..., one].copy(), x[..., two].copy()
            out[..., one] = c[..., i] * a - s[..., i] * b
            out[..., two] = s[..., i] * a + c[..., i] * b
    return out
