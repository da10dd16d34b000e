import math

import numpy as np


def attend(q, k, v, scale, allowed, added):
    s = q @ k.T * scale
    if added is not None:
        s = s + added
    s = np.where(allowed, s, -np.inf)
    top = s.max(axis=1, keepdims=True, initial=-np.inf)
    e = np.where(allowed, np.exp(s - np.where(np.isneginf(top), 0, top)), 0)
    z = e.sum(axis=1, keepdims=True)
    w = (e / np.where(z == 0, 1, z)).astype(q.dtype)
    if np.isfinite(v).all():
        return w @ v, w
    return np.where(allowed[:, :, None], w[:, :, None] * v, q.dtype.type(0)).sum(axis=1), w


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("rank")
    B, Sq, D = query.shape
    Sk = key.shape[1]
    if D % num_heads:
        raise ValueError("heads")
    width = D // num_heads
    real = np.float64 if query.dtype == np.float64 else np.float32
    factor = real(1 / math.sqrt(width) if scale is None else scale)
    full = None if mask is None else np.broadcast_to(mask, (B, num_heads, Sq, Sk))
    weights = np.zeros((B, num_heads, Sq, Sk), query.dtype)
    output = np.zeros((B, Sq, D), query.dtype)
    for b in range(B):
        q = query[b].astype(real) @ w_query.astype(real)
        k = key[b].astype(real) @ w_key.astype(real)
        v = value[b].astype(real) @ w_value.astype(real)
        if b_query is not None:
            q = q + b_query.astype(real)
        if b_key is not None:
            k = k + b_key.astype(real)
        if b_value is not None:
            v = v + b_value.astype(real)
        joined = np.zeros((Sq, D), real)
        for h in range(num_heads):
            part = slice(h * width, (h + 1) * width)
            allowed = np.tri(Sq, Sk, dtype=bool) if is_causal else np.ones((Sq, Sk), bool)
            added = None
            if full is not None and full.dtype == bool:
                allowed = allowed & full[b, h]
            elif full is not None:
                added = full[b, h].astype(real)
                allowed = allowed & ~np.isneginf(added)
            joined[:, part], weights[b, h] = attend(q[:, part], k[:, part], v[:, part], factor, allowed, added)
        y = joined @ w_output.astype(real)
        if b_output is not None:
            y = y + b_output.astype(real)
        if full is not None:
            y = np.where(weights[b].any(axis=(0, 2))[:, None], y, 0)
        output[b] = y
    return {"output": output, "weights": weights}

dtypes = ("float64", "float32")
