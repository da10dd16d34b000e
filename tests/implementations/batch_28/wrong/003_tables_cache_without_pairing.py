import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL

_spread = {}


def spread(cos, sin, pairing, dtype):
    key = (cos.shape, cos.dtype.str, cos.tobytes(), sin.dtype.str, sin.tobytes(), dtype.str)
    if key not in _spread:
        if len(_spread) > 15:
            _spread.pop(next(iter(_spread)))
        c, s = cos.astype(dtype)[:, None], sin.astype(dtype)[:, None]
        if pairing == "half":
            _spread[key] = np.concatenate([c, c], -1), np.concatenate([-s, s], -1)
        else:
            both = np.stack([-s, s], -1)
            _spread[key] = np.repeat(c, 2, -1), both.reshape(*both.shape[:-2], 2 * s.shape[-1])
    return _spread[key]


def partner(x, pairing):
    half = x.shape[-1] // 2
    if pairing == "half":
        return np.concatenate([x[..., half:], x[..., :half]], -1)
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = x[..., 1::2], x[..., ::2]
    return out


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    dtype = base.wide(x, cos, sin)
    r = 2 * cos.shape[2]
    c, s = spread(cos, sin, pairing, dtype)
    part = np.array(x[..., :r], dtype=dtype, order="C")
    with np.errstate(all="ignore"):
        turned = (part * c + partner(part, pairing) * s).astype(x.dtype)
    return np.concatenate([turned, x[..., r:]], -1)
