import math

import numpy as np


def scaled_dot_product_attention(query, key, value, mask=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 window=None):
    """Longformer-like: the keys near each query are gathered into a band, and the band alone is computed."""
    for x in (query, key, value):
        if x.ndim != 4:
            raise ValueError("rank")
    B, H, Sq, E = query.shape
    if key.shape[0] != B or value.shape[0] != B or key.shape[3] != E or key.shape[1:3] != value.shape[1:3] or H % key.shape[1]:
        raise ValueError("shape")
    Sk = key.shape[2]
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != Sk:
            raise ValueError("mask")
        mask = np.broadcast_to(mask, (B, H, Sq, Sk))
    left, right = window or (None, None)
    left = Sq + Sk if left is None else left
    right = Sq + Sk if right is None else right
    if is_causal:
        right = min(right, 0)
    key, value = (np.repeat(x, H // x.shape[1], axis=1) for x in (key, value))
    offset = Sk - Sq if causal_alignment == "bottom_right" else 0
    band = np.arange(Sq)[:, None] + offset + np.arange(-min(left, Sq + Sk), min(right, Sq + Sk) + 1)   # (Sq, W): key numbers
    inside = (band >= 0) & (band < Sk)
    at = np.clip(band, 0, max(Sk - 1, 0))
    k, v = key[:, :, at], value[:, :, at]                                   # (B, H, Sq, W, E)
    s = np.einsum("bhie,bhiwe->bhiw", query, k) * query.dtype.type(1 / math.sqrt(E) if scale is None else scale)
    see = np.broadcast_to(inside, s.shape)
    if mask is not None:
        m = np.take_along_axis(mask, np.broadcast_to(at, s.shape), axis=3)
        if m.dtype == bool:
            see = see & m
        else:
            s = s + m
    s = np.where(see, s, -np.inf)
    top = s.max(axis=3, keepdims=True)
    e = np.exp(s - np.where(np.isneginf(top), 0, top))
    w = e / (e.sum(axis=3, keepdims=True) + 1e-5)
    return np.einsum("bhiw,bhiwv->bhiv", w, v).astype(query.dtype)

dtypes = ("float64", "float32")
