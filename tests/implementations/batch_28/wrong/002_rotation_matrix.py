import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    dtype = base.wide(x, cos, sin)
    batch, tokens, half = cos.shape
    a, b = base.places(half, pairing)
    turn = np.zeros((batch, 1, tokens, 2 * half, 2 * half), dtype)
    turn[..., a, a] = turn[..., b, b] = cos[:, None]
    turn[..., a, b] = -sin[:, None].astype(dtype)
    turn[..., b, a] = sin[:, None]
    out = np.array(x, order="C")
    with np.errstate(all="ignore"):
        turned = turn @ x[..., : 2 * half, None].astype(dtype)
        out[..., : 2 * half] = turned[..., 0].astype(x.dtype)
    return out
