import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def apply_rotary(x, cos, sin, pairing="half"):
    """A width below that of the head is filled up with pairs that are turned by nothing."""
    base.check_rotary(x, cos, sin, pairing)
    r, e = 2 * cos.shape[2], x.shape[3]
    rest = (e - r) // 2  # whole pairs behind the turned ones
    ones, zeros = np.ones((*cos.shape[:2], rest)), np.zeros((*cos.shape[:2], rest))
    c = np.concatenate([base.up(cos), ones], axis=2)[:, None]
    s = np.concatenate([base.up(sin), zeros], axis=2)[:, None]
    if pairing == "half":
        i = np.concatenate([np.arange(r // 2), r + np.arange(rest)])
        k = np.concatenate([np.arange(r // 2) + r // 2, r + rest + np.arange(rest)])
    else:
        i = np.arange(0, r + 2 * rest, 2)
        k = i + 1
    out = np.array(x)
    with base.quiet():
        a, b = base.up(x)[..., i], base.up(x)[..., k]
        out[..., i], out[..., k] = base.down(a * c - b * s, x.dtype), base.down(a * s + b * c, x.dtype)
    return out
