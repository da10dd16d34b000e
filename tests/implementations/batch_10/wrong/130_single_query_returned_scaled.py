import math
import numpy as np


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    q, k, v = np.matmul(x, w_query), np.matmul(x, w_key), np.matmul(x, w_value)
    q *= x.dtype.type(q.shape[1] ** -0.5 if scale is None else scale)
    s = q @ k.T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    w = e / e.sum(axis=1, keepdims=True)
    y = w @ v
    if w_output is not None:
        y = y @ w_output
    return {"output": y, "weights": w, "scores": s, "query": q, "key": k, "value": v}

dtypes = ("float64", "float32")
