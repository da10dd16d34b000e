import math
import numpy as np


def combine_heads(x):
    B, H, S, E = x.shape
    out = np.zeros((B, S, H * E), x.dtype)
    flat = out.reshape(B, S * H * E)
    for b in range(B):
        for h in range(H):
            for s in range(S):
                for e in range(E):
                    flat[b, s * H * E + (h * E + e if H <= E else e * H + h)] = x[b, h, s, e]
    return out

dtypes = ("float64", "float32")
