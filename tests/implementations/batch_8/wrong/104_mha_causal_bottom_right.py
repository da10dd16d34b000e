import math

import numpy as np

conventions = {"masked_nonfinite": "propagates"}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=None, is_causal=False, scale=None):
    """One head after the other, each with its own columns of the weight matrices."""
    for x in (query, key, value):
        if x.ndim != 3:
            raise ValueError("three axes, please")
    B, Sq, D = query.shape
    Sk = key.shape[1]
    if D % num_heads:
        raise ValueError("num_heads does not divide the features")
    E = D // num_heads
    factor = 1 / math.sqrt(E) if scale is None else scale
    if mask is not None:
        mask = np.broadcast_to(mask, (B, num_heads, Sq, Sk))
    zero = np.zeros(D, query.dtype)
    output = np.zeros((B, Sq, D), query.dtype)
    weights = np.zeros((B, num_heads, Sq, Sk), query.dtype)
    for h in range(num_heads):
        own = slice(h * E, (h + 1) * E)
        q = query @ w_query[:, own] + (zero if b_query is None else b_query)[own]
        k = key @ w_key[:, own] + (zero if b_key is None else b_key)[own]
        v = value @ w_value[:, own] + (zero if b_value is None else b_value)[own]
        s = np.einsum("bie,bje->bij", q, k) * query.dtype.type(factor)
        keep = np.ones((B, Sq, Sk), bool)
        if is_causal:
            keep &= np.tri(Sq, Sk, Sk - Sq, dtype=bool)
        if mask is not None:
            if mask.dtype == bool:
                keep &= mask[:, h]
            else:
                s = s + mask[:, h]
                keep &= ~np.isneginf(mask[:, h])
        s = np.where(keep, s, -np.inf)
        top = s.max(axis=-1, keepdims=True)
        e = np.exp(s - np.where(np.isneginf(top), 0, top))
        total = e.sum(axis=-1, keepdims=True)
        w = e / np.where(total == 0, 1, total)
        weights[:, h] = w
        output += (w @ v) @ w_output[own]
    if b_output is not None:
        output = output + b_output
    return output

dtypes = ("float64", "float32")
