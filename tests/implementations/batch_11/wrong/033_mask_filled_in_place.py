"""Attention by einsum, the query heads of a key head on an axis of their own, exclusions as an added bias."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")

conventions = {"masked_nonfinite": "propagates"}


def _run(a):
    dt = base.wide(a.query.dtype)
    k, v = a.key, a.value
    if a.past_key is not None:
        k, v = np.concatenate([a.past_key, k], 2), np.concatenate([a.past_value, v], 2)
    else:
        k, v = k.copy(), v.copy()
    groups = a.Hq // a.Hkv if a.Hkv else 1
    q = a.query.reshape(a.B, a.Hkv, groups, a.Sq, a.E).astype(dt)
    scale = 1 / math.sqrt(a.E) if a.scale is None else a.scale
    scores = np.einsum("bgrie,bgje->bgrij", q, k.astype(dt)).reshape(a.B, a.Hq, a.Sq, a.T) * dt.type(scale)
    logits = scores
    if a.softcap:
        logits = np.tanh(logits / dt.type(a.softcap)) * dt.type(a.softcap)
    L = np.full(a.B, a.T) if a.key_lengths is None else a.key_lengths
    N = np.full(a.B, a.Sq) if a.query_lengths is None else a.query_lengths
    first = np.full(a.B, a.P) if a.causal_alignment == "top_left" else L - N
    ahead = np.arange(a.T) - (first[:, None, None] + np.arange(a.Sq)[:, None])
    if a.alibi_slopes is not None:
        logits = logits - np.einsum("h,bij->bhij", a.alibi_slopes.astype(dt), np.abs(ahead).astype(dt))
    hidden = np.arange(a.T) >= L[:, None, None]
    hidden = np.repeat(hidden, a.Sq, 1)
    if a.is_causal:
        hidden |= ahead > 0
    left, right = a.window or (None, None)
    if left is not None:
        hidden |= ahead < -left
    if right is not None:
        hidden |= ahead > right
    logits = logits + np.where(hidden, dt.type(-np.inf), dt.type(0))[:, None]
    gone = hidden[:, None]
    if a.mask is not None:
        extra = np.where(a.mask, 0, -np.inf) if a.mask.dtype == np.bool_ else a.mask
        if a.is_causal and a.key_lengths is None and extra.shape == hidden.shape[1:] and extra.flags.writeable and len(hidden):
            extra[hidden[0]] = -np.inf
        logits = logits + extra.astype(dt)
        gone = gone | (extra == -np.inf)
    logits = np.where(gone, dt.type(-np.inf), logits)
    peak = logits.max(-1, keepdims=True, initial=-np.inf)
    if a.sinks is not None:
        sink = a.sinks.astype(dt)[None, :, None, None]
        peak = np.maximum(peak, sink)
    peak = np.where(peak == -np.inf, 0, peak)
    e = np.exp(logits - peak)
    total = e.sum(-1, keepdims=True)
    if a.sinks is not None:
        total = total + np.exp(sink - peak)
    weights = e / np.where(total == 0, 1, total)
    weights = np.where(gone, 0, weights)
    out = np.einsum("bgrij,bgjd->bgrid", weights.reshape(a.B, a.Hkv, groups, a.Sq, a.T), v.astype(dt))
    out = out.reshape(a.B, a.Hq, a.Sq, a.Ev)
    lse = (peak + np.log(total))[..., 0]
    return {"output": out.astype(a.query.dtype), "weights": weights, "logsumexp": lse}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    with np.errstate(all="ignore"):
        return _run(a)
