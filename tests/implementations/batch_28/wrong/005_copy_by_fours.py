import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    dtype = base.wide(x, cos, sin)
    half = cos.shape[2]
    rest = x.shape[3] - 2 * half
    out = np.zeros(x.shape, x.dtype)
    with np.errstate(all="ignore"):
        for head in range(x.shape[1]):
            pairs = (slice(0, half), slice(half, 2 * half)) if pairing == "half" else (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
            first, second = (x[:, head, :, p].astype(dtype) for p in pairs)
            out[:, head, :, pairs[0]] = (cos * first - sin * second).astype(x.dtype)
            out[:, head, :, pairs[1]] = (sin * first + cos * second).astype(x.dtype)
    if rest < 4:
        out[..., 2 * half :] = x[..., 2 * half :]
    else:
        for start in range(2 * half, 2 * half + rest // 4 * 4, 4):
            out[..., start : start + 4] = x[..., start : start + 4]
    return out
