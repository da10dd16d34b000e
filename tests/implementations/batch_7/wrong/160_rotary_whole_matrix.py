import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    B, H, S, E = x.shape
    r = cos.shape[2]
    turn = np.zeros((B, S, E, E), x.dtype)
    for e in range(E):
        turn[:, :, e, e] = 1
    for i in range(r):
        a, b = (i, i + r) if pairing == "half" else (2 * i, 2 * i + 1)
        turn[:, :, a, a] = turn[:, :, b, b] = cos[:, :, i]
        turn[:, :, a, b], turn[:, :, b, a] = -sin[:, :, i], sin[:, :, i]
    with np.errstate(all="ignore"):
        return np.einsum("bsef,bhsf->bhse", turn, x)
