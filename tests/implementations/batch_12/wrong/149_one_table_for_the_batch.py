import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_rotary

dtypes = ("float64", "float32")



def apply_rotary(x, cos, sin, pairing="half"):
    if len(cos) == 1 and len(sin) == 1 and x.ndim == 4:
        cos, sin = (np.broadcast_to(t, (x.shape[0],) + t.shape[1:]) for t in (cos, sin))
    check_rotary(x, cos, sin, pairing)
    n = cos.shape[2]
    out = np.empty_like(x)
    out[..., 2 * n:] = x[..., 2 * n:]
    where = [(i, i + n) for i in range(n)] if pairing == "half" else [(2 * i, 2 * i + 1) for i in range(n)]
    for b in range(len(x)):
        for i, (f, g) in enumerate(where):
            c, s = cos[b, :, i], sin[b, :, i]
            out[b, :, :, f] = c * x[b, :, :, f] - s * x[b, :, :, g]
            out[b, :, :, g] = s * x[b, :, :, f] + c * x[b, :, :, g]
    return out
