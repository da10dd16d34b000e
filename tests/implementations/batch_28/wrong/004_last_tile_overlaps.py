import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL

TILE = 32


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    dtype = base.wide(x, cos, sin)
    half = cos.shape[2]
    a, b = base.places(half, pairing)
    buffer = np.array(x[..., : 2 * half], dtype=dtype, order="C")
    tokens = x.shape[2]
    for start in range(0, tokens, TILE):
        if tokens >= TILE:
            start = min(start, tokens - TILE)
        rows = slice(start, start + TILE)
        c, s = cos[:, None, rows].astype(dtype), sin[:, None, rows].astype(dtype)
        first, second = buffer[:, :, rows, a], buffer[:, :, rows, b]
        with np.errstate(all="ignore"):
            buffer[:, :, rows, a] = c * first - s * second
            buffer[:, :, rows, b] = s * first + c * second
    out = np.array(x, order="C")
    with np.errstate(all="ignore"):
        out[..., : 2 * half] = buffer.astype(x.dtype)
    return out
