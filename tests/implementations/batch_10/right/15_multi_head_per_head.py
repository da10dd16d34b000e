"""One head after the other, each with its slice of the weights; output projection summed over heads."""
import math
import numpy as np


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("rank")
    B, Sq, D = query.shape
    Sk = key.shape[1]
    if D % num_heads:
        raise ValueError("num_heads")
    d = D // num_heads
    dtype = query.dtype
    out = np.zeros((B, Sq, D), dtype)
    all_weights = np.zeros((B, num_heads, Sq, Sk), dtype)
    full = None if mask is None else np.broadcast_to(mask, all_weights.shape)
    for h in range(num_heads):
        part = slice(h * d, (h + 1) * d)
        q, v = query @ w_query[:, part], value @ w_value[:, part]
        k = key @ w_key[:, part]                      # b_key changes no weight
        if b_query is not None:
            q = q + b_query[part]
        if b_key is not None:
            k = k + b_key[part]
        if b_value is not None:
            v = v + b_value[part]
        s = np.einsum("bie,bje->bij", q, k) * dtype.type(d ** -0.5 if scale is None else scale)
        ok = np.ones((B, Sq, Sk), bool)
        if is_causal:
            ok &= np.tri(Sq, Sk, dtype=bool)
        if mask is not None:
            m = full[:, h]
            if m.dtype == np.bool_:
                ok &= m
            else:
                ok &= m != -np.inf
                s = s + np.where(m == -np.inf, 0, m)
        s = np.where(ok, s, -np.inf)
        top = np.where(ok.any(-1), s.max(-1, initial=-np.inf), 0)[..., None].astype(dtype)
        e = np.exp(s - top).astype(dtype)
        z = e.sum(-1, keepdims=True)
        w = e / np.where(z == 0, 1, z)
        all_weights[:, h] = w
        out += (w @ v) @ w_output[part]
    if b_output is not None:
        out += b_output
    return {"output": out, "weights": all_weights}

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}
