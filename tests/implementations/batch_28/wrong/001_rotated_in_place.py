import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    work = np.array(x, dtype=base.wide(x, cos, sin), order="C")
    half = cos.shape[2]
    with np.errstate(all="ignore"):
        for i in range(half):
            a, b = (i, i + half) if pairing == "half" else (2 * i, 2 * i + 1)
            c, s = cos[:, None, :, i].astype(work.dtype), sin[:, None, :, i].astype(work.dtype)
            work[..., a] = c * work[..., a] - s * work[..., b]
            work[..., b] = s * work[..., a] + c * work[..., b]
        out = np.array(x, order="C")
        out[..., : 2 * half] = work[..., : 2 * half].astype(x.dtype)
    return out
