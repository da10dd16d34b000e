import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("rank")
    D = query.shape[2]
    if D % num_heads:
        raise ValueError("heads")
    width = D // num_heads
    zero = np.zeros(D, query.dtype)
    mixed = np.empty(query.shape, query.dtype)
    if mask is not None:
        mask = np.broadcast_to(mask, (len(query), num_heads, query.shape[1], key.shape[1]))
    for b in range(len(query)):
        for h in range(num_heads):
            at = slice(h * width, (h + 1) * width)
            q, k, v = (x[b] @ m[:, at] + (zero if c is None else c)[at] for x, m, c in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
            s = q @ k.T * (1 / math.sqrt(width) if scale is None else scale)
            ok = np.tri(*s.shape, dtype=bool) if is_causal else np.ones(s.shape, bool)
            if mask is not None:
                ok = ok & (mask[b, h] if mask.dtype == bool else mask[b, h] != -np.inf)
                s = s if mask.dtype == bool else s + mask[b, h]
            s = np.where(ok, s, s.dtype.type(-np.inf))
            top = s.max(axis=1, keepdims=True)
            e = np.exp(s - np.where(top == -np.inf, s.dtype.type(0), top))
            total = e.sum(axis=1, keepdims=True)
            mixed[b, :, at] = e @ v / np.where(total == 0, s.dtype.type(1), total)
    return (mixed + (zero if b_output is None else b_output)) @ w_output
