import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    B, H, S, E = x.shape
    n = cos.shape[2]
    i = np.arange(n)
    f, g = (i, i + n) if pairing == "half" else (2 * i, 2 * i + 1)
    turn = np.zeros((B, S, E, E), x.dtype)
    turn[..., np.arange(E), np.arange(E)] = 1
    turn[..., f, f], turn[..., f, g], turn[..., g, f], turn[..., g, g] = cos, sin * -1, sin, cos
    with np.errstate(all="ignore"):
        return np.einsum("bsfe,bhse->bhsf", turn, x)
