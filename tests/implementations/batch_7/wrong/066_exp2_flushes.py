"""Everything in powers of two: log2 e is folded into the scale."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

conventions = {"masked_nonfinite": "propagates"}
np.seterr(all="ignore")
LOG2E = math.log2(math.e)
LN2 = math.log(2)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
          causal_alignment)
    P = 0
    if past_key is not None:
        P = past_key.shape[2]
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, HQ, SQ, E = query.shape
    HK, T, EV = value.shape[1:]
    group = HQ // HK
    dt = query.dtype
    factor = 1 / math.sqrt(E) if scale is None else scale
    left, right = (None, None) if window is None else window
    n_keys = np.full(B, T) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    n_queries = np.full(B, SQ) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    first = np.full(B, P) if causal_alignment == "top_left" else n_keys - n_queries
    pos = (first[:, None] + np.arange(SQ))[:, None, :, None]
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    s = np.einsum("bhie,bhje->bhij", query, key) * (factor * LOG2E)
    if softcap:
        s = softcap * LOG2E * np.tanh(s / (softcap * LOG2E))
    cols = np.arange(T)
    if alibi_slopes is not None:
        s = s - (alibi_slopes * LOG2E)[:, None, None] * np.abs(pos - cols).astype(dt)
    ok = np.broadcast_to(cols < n_keys[:, None, None, None], s.shape)
    if is_causal:
        ok = ok & (cols <= pos)
    if left is not None:
        ok = ok & (cols >= pos - left)
    if right is not None:
        ok = ok & (cols <= pos + right)
    if mask is not None:
        if mask.dtype == bool:
            ok = ok & mask
        else:
            s = s + mask * LOG2E
            ok = ok & (mask != -np.inf)
    s = np.where(ok, s, dt.type(-np.inf))
    m = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sink = (sinks * LOG2E)[:, None, None]
        m = np.maximum(m, sink)
    m = np.where(m == -np.inf, dt.type(0), m)
    e = np.where(s == -np.inf, dt.type(0), np.exp2(np.maximum(s - m, dt.type(-24))))
    total = e.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp2(sink - m)
    out = (e @ value) / np.where(total == 0, dt.type(1), total)
    lse = ((np.log2(total) + m) * LN2)[..., 0]
    return {"output": out, "logsumexp": lse}
