import numpy as np


def _check(x, cos, sin, pairing):
    if x.ndim != 4:
        raise ValueError("x must be of rank 4")
    if cos.ndim != 3 or sin.ndim != 3 or cos.shape != sin.shape:
        raise ValueError("tables do not fit each other")
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("tables do not fit the tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables are too wide")


def apply_rotary(x, cos, sin, pairing="half"):
    _check(x, cos, sin, pairing)
    R = 2 * cos.shape[2]
    real = np.promote_types(x.dtype, np.float32)
    turned, rest = x[..., :R].astype(real), x[..., R:]
    c, s = cos.astype(real)[:, None], sin.astype(real)[:, None]
    if pairing == "half":
        first, second = turned[..., :R // 2], turned[..., R // 2:]
        new = np.concatenate([c * first - s * second, s * first + c * second], axis=-1)
    else:
        first, second = turned[..., 0::2], turned[..., 1::2]
        new = np.stack([c * first - s * second, s * first + c * second], axis=-1).reshape(turned.shape)
    return np.concatenate([new.astype(x.dtype), rest], axis=-1)

dtypes = ("float64", "float32")
