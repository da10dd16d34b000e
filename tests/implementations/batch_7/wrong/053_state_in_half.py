"""One key after the other, all queries at once: a recurrence with a state (m, l, o)."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

np.seterr(all="ignore")


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
    pos = np.broadcast_to(pos[..., 0], (B, HQ, SQ))
    m = np.full((B, HQ, SQ), -np.inf, dt) if sinks is None else np.broadcast_to(sinks[:, None], (B, HQ, SQ)).copy()
    l = np.zeros((B, HQ, SQ), dt) if sinks is None else np.ones((B, HQ, SQ), dt)
    o = np.zeros((B, HQ, SQ, EV), dt)
    heads = np.arange(HQ) // group
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, T))
    for j in range(T):
        k, v = key[:, heads, j], value[:, heads, j]
        s = (query * k[:, :, None]).sum(axis=-1) * factor
        if softcap:
            s = softcap * np.tanh(s / softcap)
        if alibi_slopes is not None:
            s = s - alibi_slopes[:, None] * np.abs(pos - j).astype(dt)
        ok = np.broadcast_to((j < n_keys)[:, None, None], s.shape)
        if is_causal:
            ok = ok & (j <= pos)
        if left is not None:
            ok = ok & (j >= pos - left)
        if right is not None:
            ok = ok & (j <= pos + right)
        if mask is not None:
            column = mask[..., j]
            if column.dtype == bool:
                ok = ok & column
            else:
                s = s + column
                ok = ok & (column != -np.inf)
        m_new = np.where(ok, np.maximum(m, s), m)
        down = np.where(ok & (m != m_new), np.exp(m - m_new), dt.type(1))
        up = np.where(ok, np.exp(s - m_new), dt.type(0))
        l = l * down + up
        o = o * down[..., None] + np.where(ok[..., None], up[..., None] * v[:, :, None], dt.type(0))
        m = m_new
        if T > 64:
            l = l.astype(np.float16).astype(dt)
    out = o / np.where(l == 0, dt.type(1), l)[..., None]
    lse = np.where(l == 0, dt.type(-np.inf), m + np.log(l))
    return {"output": out, "logsumexp": lse}
