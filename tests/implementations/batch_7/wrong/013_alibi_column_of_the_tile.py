"""A tiled kernel with a running maximum, a query tile against key tiles."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

conventions = {"masked_nonfinite": "propagates"}
np.seterr(all="ignore")
BM, BN = 4, 8


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
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, T))
    out = np.zeros((B, HQ, SQ, EV), dt)
    lse = np.full((B, HQ, SQ), -np.inf, dt)
    for b in range(B):
        for h in range(HQ):
            n_keys = T if key_lengths is None else int(key_lengths[b])
            n_queries = SQ if query_lengths is None else int(query_lengths[b])
            shift = P if causal_alignment == "top_left" else n_keys - n_queries
            g = h // group
            for m0 in range(0, SQ, BM):
                rows = np.arange(m0, min(m0 + BM, SQ))
                pos = rows + shift
                lo, hi = 0, n_keys
                if is_causal:
                    hi = min(hi, pos[-1] + 1)
                if right is not None:
                    hi = min(hi, pos[-1] + right + 1)
                if left is not None:
                    lo = max(0, (pos[0] - left) // BN * BN)
                m = np.full(len(rows), -np.inf, dt)
                l = np.zeros(len(rows), dt)
                acc = np.zeros((len(rows), EV), dt)
                q = query[b, h, rows]
                for n0 in range(lo, hi, BN):
                    cols = np.arange(n0, n0 + BN)
                    at = np.minimum(cols, T - 1)
                    s = q @ key[b, g, at].T * factor
                    if softcap:
                        s = softcap * np.tanh(s / softcap)
                    if alibi_slopes is not None:
                        s = s - alibi_slopes[h] * np.abs(pos[:, None] - (cols - n0)).astype(dt)
                    ok = np.broadcast_to(cols < n_keys, s.shape)
                    if is_causal:
                        ok = ok & (cols <= pos[:, None])
                    if left is not None:
                        ok = ok & (cols >= pos[:, None] - left)
                    if right is not None:
                        ok = ok & (cols <= pos[:, None] + right)
                    if mask is not None:
                        part = mask[b, h, rows][:, at]
                        if part.dtype == bool:
                            ok = ok & part
                        else:
                            s = s + part
                            ok = ok & (part != -np.inf)
                    s = np.where(ok, s, dt.type(-np.inf))
                    m_new = np.maximum(m, s.max(axis=1))
                    safe = np.where(m_new == -np.inf, dt.type(0), m_new)
                    alpha = np.exp(m - safe)
                    p = np.exp(s - safe[:, None])
                    l = l * alpha + p.sum(axis=1)
                    acc = acc * alpha[:, None] + p @ value[b, g, at]
                    m = m_new
                if sinks is not None:
                    m_new = np.maximum(m, sinks[h])
                    alpha = np.exp(m - m_new)
                    l = l * alpha + np.exp(sinks[h] - m_new)
                    acc = acc * alpha[:, None]
                    m = m_new
                out[b, h, rows] = acc / np.where(l == 0, dt.type(1), l)[:, None]
                lse[b, h, rows] = np.where(l == 0, dt.type(-np.inf), np.log(l) + m)
    return out
