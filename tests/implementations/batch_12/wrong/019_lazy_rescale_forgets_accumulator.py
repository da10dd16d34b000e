import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
TILE = 16


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Flash attention: tiles of keys, a running maximum, a running sum."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    P = 0 if past_key is None else past_key.shape[2]
    T, Ev = P + key.shape[2], value.shape[3]
    f = query.dtype.type
    factor = f(E ** -0.5 if scale is None else scale)
    out = np.zeros((B, Hq, Sq, Ev), f)
    lse = np.zeros((B, Hq, Sq), f)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    for b in range(B):
        L = T if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        p = (P if causal_alignment == "top_left" else L - N) + np.arange(Sq)[:, None]
        for h in range(Hq):
            g = h * key.shape[1] // Hq
            k, v = key[b, g], value[b, g]
            if P:
                k, v = np.concatenate([past_key[b, g], k]), np.concatenate([past_value[b, g], v])
            m = np.full((Sq, 1), -np.inf, f)
            l = np.zeros((Sq, 1), f)
            acc = np.zeros((Sq, Ev), f)
            if sinks is not None:
                m = np.full((Sq, 1), sinks[h], f)
                l = np.where(np.isneginf(m), f(0), f(1))
            for j0 in range(0, T, TILE):
                j = np.arange(j0, min(j0 + TILE, T))
                ok = np.broadcast_to(j < L, (Sq, len(j)))
                if is_causal:
                    ok = ok & (j <= p)
                if window is not None and window[0] is not None:
                    ok = ok & (j >= p - window[0])
                if window is not None and window[1] is not None:
                    ok = ok & (j <= p + window[1])
                s = query[b, h] @ k[j].T * factor
                if softcap:
                    s = np.tanh(s / f(softcap)) * f(softcap)
                if alibi_slopes is not None:
                    s = s - f(alibi_slopes[h]) * np.abs(p - j).astype(f)
                if mask is not None:
                    part = mask[b, h][:, j]
                    if part.dtype == bool:
                        ok = ok & part
                    else:
                        s = s + part
                        ok = ok & (part != -np.inf)
                s = np.where(ok, s, f(-np.inf))
                m_new = np.maximum(m, s.max(1, keepdims=True))
                base = np.where(np.isneginf(m_new), f(0), m_new)
                alpha = np.exp(m - base)
                e = np.exp(s - base)
                l = l * alpha + e.sum(1, keepdims=True)
                vj = np.where(ok.any(0)[:, None], v[j], f(0))
                fade = np.where(m_new - m > 4, alpha, f(1))
                if np.isfinite(vj).all():
                    acc = acc * fade + e @ vj
                else:
                    acc = acc * alpha + np.where(ok[:, :, None], e[:, :, None] * vj, f(0)).sum(1)
                m = m_new
            out[b, h] = acc / np.where(l == 0, f(1), l)
            lse[b, h] = (np.where(np.isneginf(m), f(0), m) + np.log(l))[:, 0]
    return {"output": out, "logsumexp": lse}
