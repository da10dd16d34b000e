import math
import numpy as np


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    tokens, width = x.shape
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    scale = 1 / math.sqrt(width) if scale is None else scale
    out = []
    for i in range(tokens):
        s = (k @ q[i]) * scale
        w = np.exp(s - s.max())
        out.append((w / w.sum()) @ v)
    out = np.array(out, x.dtype)
    return out if w_output is None else out @ w_output

dtypes = ("float64", "float32")
