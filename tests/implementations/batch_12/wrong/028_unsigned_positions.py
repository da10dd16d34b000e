import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
SPLIT = 32
conventions = {"masked_nonfinite": "propagates"}


def partial(q, k, v, bias, factor, softcap):
    """Normalised output and logsumexp of one part of the keys; q holds the rows of all heads of a group."""
    s = q @ k.T * factor
    if softcap:
        s = softcap * np.tanh(s / softcap)
    s = s + bias
    s = np.where(np.isneginf(bias), bias, s)
    m = s.max(-1, keepdims=True, initial=-np.inf)
    m = np.where(np.isneginf(m), np.zeros_like(m), m)
    e = np.exp(s - m)
    d = e.sum(-1, keepdims=True)
    return e @ v / np.where(d == 0, np.ones_like(d), d), (m + np.log(d))[:, 0]


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Flash decoding: the keys in splits, one GEMM for all query heads of a group, splits merged by logsumexp."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    Hkv = key.shape[1]
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    T, G, Ev = key.shape[2], Hq // Hkv, value.shape[3]
    P = 0 if past_key is None else past_key.shape[2]
    f = query.dtype.type
    factor = f(E ** -0.5 if scale is None else scale)
    softcap = f(softcap) if softcap else None
    out = np.zeros((B, Hq, Sq, Ev), f)
    for b in range(B):
        L = T if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        p = (P if causal_alignment == "top_left" else L - N) + np.arange(Sq)[:, None]
        p = p.astype(np.uint32)
        j = np.arange(T, dtype=np.uint32)
        no = np.broadcast_to(j >= L, (Sq, T)).copy()
        if is_causal:
            no |= j > p
        if window is not None and window[0] is not None:
            no |= j < p - window[0]
        if window is not None and window[1] is not None:
            no |= j > p + window[1]
        bias = np.zeros((Hq, Sq, T), f)
        if alibi_slopes is not None:
            bias -= np.asarray(alibi_slopes)[:, None, None] * np.abs(p - j).astype(f)
        if mask is not None:
            mb = np.broadcast_to(mask, (B, Hq, Sq, T))[b]
            bias = np.where(mb, bias, f(-np.inf)) if mb.dtype == bool else bias + mb
        bias = np.where(no, f(-np.inf), bias)
        for g in range(Hkv):
            rows = slice(g * G, (g + 1) * G)
            q = query[b, rows].reshape(G * Sq, E)
            gb = bias[rows].reshape(G * Sq, T)
            outs, lses = [], []
            for a in range(0, T, SPLIT):
                o, s = partial(q, key[b, g, a:a + SPLIT], value[b, g, a:a + SPLIT], gb[:, a:a + SPLIT], factor, softcap)
                outs.append(o)
                lses.append(s)
            if sinks is not None:
                outs.append(np.zeros((G * Sq, Ev), f))
                lses.append(np.repeat(np.asarray(sinks)[rows], Sq).astype(f))
            if not outs:
                continue
            lses = np.stack(lses)
            top = lses.max(0)
            top = np.where(np.isneginf(top), f(0), top)
            share = np.exp(lses - top)
            total = share.sum(0)
            share = share / np.where(total == 0, f(1), total)
            out[b, rows] = sum(w[:, None] * o for w, o in zip(share, outs)).reshape(G, Sq, Ev)
    return out
