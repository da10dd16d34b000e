"""Multi-head attention head by head; the key bias is left out, and each head adds its part of the output."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")

conventions = {"multi_head_attention.masked_nonfinite": "propagates"}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    base.check_mha(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, num_heads)
    dt = query.dtype
    (B, Sq, D), Sk = query.shape, key.shape[1]
    E = D // num_heads
    factor = 1 / math.sqrt(E) if scale is None else scale
    if mask is not None:
        mask = np.asarray(mask)
        base.refuse(mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != Sk, "mask")
        mask = np.broadcast_to(mask, (B, num_heads, Sq, Sk))
    out = np.zeros((B, Sq, D), dt)
    for h in range(num_heads):
        cut = slice(h * E, (h + 1) * E)
        q = query @ w_query[:, cut] + (0 if b_query is None else b_query[cut])
        k = key @ w_key[:, cut]
        v = value @ w_value[:, cut] + (0 if b_value is None else b_value[cut])
        s = np.einsum("bie,bje->bij", q, k) * dt.type(factor)
        if is_causal:
            s = np.where(np.arange(Sk) > np.arange(Sq)[:, None], dt.type(-np.inf), s)
        if mask is not None:
            t = mask[:, h]
            s = np.where(t, s, dt.type(-np.inf)) if t.dtype == np.bool_ else s + t
        top = s.max(-1, keepdims=True, initial=-np.inf)
        e = np.exp(s - np.where(top == -np.inf, 0, top))
        total = e.sum(-1, keepdims=True)
        out += (e / np.where(total == 0, 1, total)) @ v @ w_output[cut]
    return out if b_output is None else out + b_output
