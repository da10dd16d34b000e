import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
TILE = 64


def apply_rotary(x, cos, sin, pairing="half"):
    """In place on a copy, 64 tokens at a time; the last tile is moved back, so that all tiles are whole."""
    base.check_rotary(x, cos, sin, pairing)
    r, s = cos.shape[2], x.shape[2]
    first, second = (slice(None, r), slice(r, 2 * r)) if pairing == "half" else (slice(0, 2 * r, 2), slice(1, 2 * r, 2))
    out = x.copy()
    for t in range(0, s, TILE):
        t = max(min(t, s - TILE), 0)
        tile = out[:, :, t:t + TILE]
        c, d = base.up(cos[:, None, t:t + TILE]), base.up(sin[:, None, t:t + TILE])
        a, b = base.up(tile[..., first]), base.up(tile[..., second])
        with base.quiet():
            tile[..., first] = base.down(c * a - d * b, x.dtype)
            tile[..., second] = base.down(d * a + c * b, x.dtype)
    return out
