import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or cos.shape != sin.shape or cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("shapes")
    n, E = cos.shape[2], x.shape[3]
    if 2 * n > E:
        raise ValueError("width")
    if pairing not in ("half", "interleaved"):
        raise ValueError(pairing)
    a = np.arange(n) if pairing == "half" else 2 * np.arange(n)
    b = a + (n if pairing == "half" else 1)
    turn = np.zeros((*cos.shape[:2], E, E), x.dtype)
    turn[..., range(E), range(E)] = 1
    turn[..., a, a], turn[..., b, b] = cos, cos
    turn[..., a, b], turn[..., b, a] = -sin, sin
    return np.einsum("bsij,bhsj->bhsi", turn, x)

dtypes = ("float64", "float32")
