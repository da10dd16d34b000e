import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    r = 2 * cos.shape[2]
    head, tail = x[..., :r], x[..., r:]
    if pairing == "interleaved":
        head = np.concatenate([head[..., ::2], head[..., 1::2]], axis=-1)
    a, b = np.split(head, 2, axis=-1)
    c, s = cos[:, None], sin[:, None]
    return np.concatenate([c * a - s * b, s * a + c * b, tail], axis=-1)
