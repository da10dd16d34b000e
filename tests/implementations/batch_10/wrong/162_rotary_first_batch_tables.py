import math
import numpy as np


def apply_rotary(x, cos, sin, pairing="half"):
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3 or cos.shape != sin.shape or cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("shapes")
    B, H, S, E = x.shape
    n = cos.shape[2]
    if 2 * n > E or pairing not in ("half", "interleaved"):
        raise ValueError("width or pairing")
    flat = x.reshape(B * H, S, E)
    out = flat.copy()
    for row in range(B * H):
        b = row // H if S > 1 else row % B                  # decoding: one token for each sequence
        for i in range(n):
            a, z = (i, n + i) if pairing == "half" else (2 * i, 2 * i + 1)
            out[row, :, a] = cos[b, :, i] * flat[row, :, a] - sin[b, :, i] * flat[row, :, z]
            out[row, :, z] = sin[b, :, i] * flat[row, :, a] + cos[b, :, i] * flat[row, :, z]
    return out.reshape(B, H, S, E)

dtypes = ("float64", "float32")
