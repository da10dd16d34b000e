import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def same_positions(table):
    return len(table) < 2 or np.array_equal(table[0], table[-1])


def apply_rotary(x, cos, sin, pairing="half"):
    base.check_rotary(x, cos, sin, pairing)
    half = cos.shape[2]
    if same_positions(cos) and same_positions(sin):  # the usual batch, where all sequences begin at 0
        cos, sin = cos[:1], sin[:1]
    a = np.arange(half) if pairing == "half" else np.arange(half) * 2
    b = a + (half if pairing == "half" else 1)
    wide = base.up(x)
    turned = np.zeros((*x.shape[:3], half, 2))
    with base.quiet():
        for h in range(x.shape[1]):
            turned[:, h, :, :, 0] = wide[:, h][..., a] * base.up(cos) - wide[:, h][..., b] * base.up(sin)
            turned[:, h, :, :, 1] = wide[:, h][..., a] * base.up(sin) + wide[:, h][..., b] * base.up(cos)
    out = x.copy()
    out[..., a], out[..., b] = base.down(turned[..., 0], x.dtype), base.down(turned[..., 1], x.dtype)
    return out
