import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
LOG2E = 1.4426950408889634


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """As GPU kernels do it: log2 e folded into the factor, exp2, keys in tiles, heads in a loop."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    P = 0 if past_key is None else past_key.shape[2]
    Sk, Ev = key.shape[2], value.shape[3]
    T = P + Sk
    f = query.dtype.type
    factor = float(scale) if scale is not None else 1.0 / np.sqrt(float(E))
    qk_scale = f(factor) if softcap else f(factor * LOG2E)
    n_rep = Hq // key.shape[1]
    out = np.zeros((B, Hq, Sq, Ev), f)
    lse = np.zeros((B, Hq, Sq), f)
    left, right = window if window is not None else (None, None)
    full = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, T))
    for b in range(B):
        L = T if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        start = P if causal_alignment == "top_left" else L - N
        offs_m = start + np.arange(Sq)
        for h in range(Hq):
            k, v = key[b, h // n_rep], value[b, h // n_rep]
            if P:
                k = np.concatenate((past_key[b, h // n_rep], k))
                v = np.concatenate((past_value[b, h // n_rep], v))
            m_i = np.full(Sq, -np.inf, f)
            l_i = np.zeros(Sq, f)
            acc = np.zeros((Sq, Ev), f)
            for start_n in range(0, L, 24):
                offs_n = np.arange(start_n, min(start_n + 24, L))
                qk = np.dot(query[b, h], k[offs_n].T) * qk_scale
                if softcap:
                    qk = f(float(softcap) * LOG2E) * np.tanh(qk / f(softcap))
                dist = offs_m[:, None] - offs_n[None, :]
                if alibi_slopes is not None:
                    qk = qk - f(float(alibi_slopes[h]) * LOG2E) * np.abs(dist).astype(f)
                hide = np.zeros(dist.shape, bool)
                if is_causal:
                    hide |= dist < 0
                if left is not None:
                    hide |= dist > left
                if right is not None:
                    hide |= -dist > right
                if full is not None:
                    tile = full[b, h][:, offs_n]
                    if tile.dtype == bool:
                        hide |= ~tile
                    else:
                        qk = qk + tile * f(LOG2E)
                        hide |= np.isneginf(tile)
                qk = np.where(hide, f(-np.inf), qk)
                m_ij = np.maximum(m_i, qk.max(1))
                m_use = np.where(np.isneginf(m_ij), f(0), m_ij)
                p = np.exp2(qk - m_use[:, None])
                alpha = np.exp2(m_i - m_use)
                l_i = l_i * alpha + p.sum(1)
                vt = v[offs_n]
                if np.isfinite(vt).all():
                    acc = acc * alpha[:, None] + p @ vt
                else:
                    acc = acc * alpha[:, None] + np.where(hide[..., None], f(0), p[..., None] * vt).sum(1)
                m_i = m_ij
            if sinks is not None:
                sink2 = f(sinks[h])
                m_ij = np.maximum(m_i, sink2)
                m_use = np.where(np.isneginf(m_ij), f(0), m_ij)
                alpha = np.exp2(m_i - m_use)
                l_i = l_i * alpha + np.exp2(sink2 - m_use)
                acc = acc * alpha[:, None]
                m_i = m_ij
            out[b, h] = acc / np.where(l_i == 0, f(1), l_i)[:, None]
            lse[b, h] = (np.where(np.isneginf(m_i), f(0), m_i) + np.log2(l_i)) / f(LOG2E)
    return {"output": out, "logsumexp": lse}
