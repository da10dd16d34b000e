import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged_heads_first"


def _part(q, k, v, bias, ok, scale, softcap):
    """Unnormalized: the sum, the denominator and the maximum."""
    s = k @ q * scale
    if softcap:
        s = softcap * np.tanh(s / softcap)
    s = (s + bias)[ok]
    if not len(s):
        return np.zeros(v.shape[1], v.dtype), v.dtype.type(0), -np.inf
    top = s.max()
    w = np.exp(s - (top if top != -np.inf else 0))
    return (w[:, None] * v[ok]).sum(0), w.sum(), top


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Three splits of unequal length, one state each; a tree of merges; the sink is a fourth state."""
    if query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or key_pool.shape[:3] != value_pool.shape[:3]:
        raise ValueError("shapes")
    batch, hq, sq, e = query.shape
    hkv, size = key_pool.shape[1:3]
    if key_pool.shape[3] != e or hq % max(hkv, 1) or len(key_lengths) != batch:
        raise ValueError("shapes")
    T = query.dtype.type
    factor = T(e ** -0.5 if scale is None else scale)
    out, lse = np.zeros((batch, hq, sq, value_pool.shape[3]), T), np.full((batch, hq, sq), -np.inf, T)
    with np.errstate(all="ignore"):
        for b in range(batch):
            length = int(key_lengths[b])
            n = sq if query_lengths is None else int(query_lengths[b])
            splits = np.array_split(np.random.default_rng(0).permutation(length), 3)
            table = np.asarray(block_table[b])
            for h in range(hq):
                g = h // (hq // max(hkv, 1))
                m = None
                if mask is not None:
                    m = np.asarray(mask).reshape(-1 if mask.shape[-1] else hq, mask.shape[-1])
                    m = m[h if len(m) > 1 else 0]
                for i in range(n):
                    p = i + (length - n if causal_alignment == "bottom_right" else 0)
                    states = []
                    for j in splits:
                        ok = np.ones(len(j), bool)
                        if is_causal:
                            ok &= j <= p
                        if window is not None:
                            ok &= (j >= p - window[0]) if window[0] is not None else True
                            ok &= (j <= p + window[1]) if window[1] is not None else True
                        bias = np.zeros(len(j), T)
                        if alibi_slopes is not None:
                            bias -= T(alibi_slopes[h]) * np.abs(p - j)
                        if m is not None and m.dtype == bool:
                            ok &= m[j]
                        elif m is not None:
                            ok, bias = ok & ~np.isneginf(m[j]), bias + m[j]
                        page = table[j // size].astype(np.int64)
                        states.append(_part(query[b, h, i], key_pool[page, g, j % size], value_pool[page, g, j % size],
                                            bias, ok, factor, softcap))
                    if sinks is not None:
                        states.insert(1, (np.zeros(value_pool.shape[3], T), T(1), T(sinks[h])))
                    while len(states) > 1:
                        (o1, t1, m1), (o2, t2, m2) = states.pop(), states.pop(0)
                        top = np.maximum(m1, m2)
                        safe = 0 if top == -np.inf else top
                        x, y = T(np.exp(m1 - safe)), T(np.exp(m2 - safe))
                        states.append((o1 * x + o2 * y, t1 * x + t2 * y, top))
                    o, t, top = states[0]
                    if t != 0:
                        out[b, h, i], lse[b, h, i] = o / t, top + np.log(t)
    return {"logsumexp": lse, "output": out}
