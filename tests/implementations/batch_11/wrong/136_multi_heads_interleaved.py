"""Multi head attention, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    base.check_mha(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, num_heads)
    (B, Sq, D), Sk, H = query.shape, key.shape[1], num_heads
    E = D // H
    dt = query.dtype

    def project(x, w, b):
        y = np.einsum("bsd,de->bse", x, np.asarray(w))
        return y if b is None else y + np.asarray(b)

    q, k, v = project(query, w_query, b_query), project(key, w_key, b_key), project(value, w_value, b_value)
    q, k, v = (x.reshape(B, -1, H, E) if x.size else x.reshape(B, x.shape[1], H, E) for x in (q, k, v))
    factor = 1 / math.sqrt(E) if scale is None else scale
    scores = np.einsum("bihe,bjhe->bhij", q, k) * dt.type(factor)
    ok = np.ones((B, H, Sq, Sk), bool)
    if is_causal:
        ok &= np.arange(Sk) <= np.arange(Sq)[:, None]
    if mask is not None:
        mask = np.asarray(mask)
        base.refuse(not 2 <= mask.ndim <= 4 or mask.shape[-1] != Sk, "mask")
        mask = np.broadcast_to(mask, (B, H, Sq, Sk))
        if mask.dtype == np.bool_:
            ok &= mask
        else:
            ok &= mask != -np.inf
            scores = scores + mask
    with np.errstate(all="ignore"):
        scores = np.where(ok, scores, dt.type(-np.inf))
        top = scores.max(-1, keepdims=True, initial=-np.inf)
        e = np.exp(scores - np.where(top == -np.inf, 0, top))
        total = e.sum(-1, keepdims=True)
        weights = (e / np.where(total == 0, 1, total)).astype(dt)
    heads = np.stack([base.weigh(weights[:, h], v[:, :, h], ok[:, h]) for h in range(H)], 3 if H == E else 2).reshape(B, Sq, D)
    output = project(heads, w_output, b_output).astype(dt)
    return output
