import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def split_heads(x, num_heads):
    B, S, D = x.shape
    if D % num_heads:
        raise ValueError("features do not divide")
    out = np.empty((B, num_heads, S, D // num_heads), x.dtype)
    for h in range(num_heads):
        out[:, h] = x[:, :, h::num_heads]
    return out
