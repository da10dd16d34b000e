import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    """Pairs as complex numbers' parts, token by token."""
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("rank")
    if cos.shape != sin.shape or cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("tables")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables are too wide")
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing")
    B, H, S, E = x.shape
    n = cos.shape[2]
    real = np.promote_types(x.dtype, np.float32)
    out = x.copy()
    for b in range(B):
        for s in range(S):
            c, d = cos[b, s].astype(real), sin[b, s].astype(real)
            for h in range(H):
                row = x[b, h, s].astype(real)
                for i in range(n):
                    one, two = (i, i + E // 2) if pairing == "half" else (2 * i, 2 * i + 1)
                    out[b, h, s, one] = c[i] * row[one] - d[i] * row[two]
                    out[b, h, s, two] = d[i] * row[one] + c[i] * row[two]
    return out

dtypes = ("float64", "float32")
