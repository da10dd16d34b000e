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
    turn = np.zeros(cos.shape[:2] + (2 * P, 2 * P), x.dtype)
    i = np.arange(P)
    one, two = (i, i + P) if pairing == "half" else (2 * i, 2 * i + 1)
    turn[..., one, one], turn[..., one, two] = cos, -sin
    turn[..., two, one], turn[..., two, two] = sin, cos
    out = x.copy()
    with np.errstate(all="ignore"):
        out[..., :2 * P] = np.einsum("bsij,bhsj->bhsi", turn, x[..., :2 * P])
    return out
