import math
import numpy as np


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    fused = x @ np.concatenate([w_query, w_key, w_value], axis=1)
    third = fused.shape[1] // 3
    q, k, v = fused[:, :third], fused[:, third:2 * third], fused[:, 2 * third:]
    s = np.einsum("ie,je->ij", q, k) * x.dtype.type(w_query.shape[1] ** -0.5 if scale is None else scale)
    w = np.exp(s - s.max(axis=-1, keepdims=True))
    w = w / w.sum(axis=-1, keepdims=True)
    out = w @ v
    return {"output": out if w_output is None else out @ w_output, "weights": w}

dtypes = ("float64", "float32")
