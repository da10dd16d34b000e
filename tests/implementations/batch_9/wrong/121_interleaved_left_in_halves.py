import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("rank")
    if cos.shape != sin.shape:
        raise ValueError("tables")
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("width")
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing")
    real = np.float64 if x.dtype == np.float64 else np.float32
    pairs = cos.shape[2]
    R = 2 * pairs
    turned, rest = x[..., :R].astype(real), x[..., R:]
    if pairing == "half":
        first, second = turned[..., :pairs], turned[..., pairs:]
    else:
        first, second = turned[..., 0::2], turned[..., 1::2]
    c = cos.astype(real)[:, None]
    s = sin.astype(real)[:, None]
    new_first = c * first - s * second
    new_second = s * first + c * second
    if pairing == "half":
        both = np.concatenate([new_first, new_second], axis=-1)
    else:
        both = np.concatenate([new_first, new_second], axis=-1)
    return np.concatenate([both.astype(x.dtype), rest], axis=-1)

dtypes = ("float64", "float32")
