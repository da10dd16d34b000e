"""Attention on packed sequences: tokens in rows, cumulated lengths, one sequence after the other."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def _pack(x, lengths):
    """(B, H, S, E) to (sum of lengths, H, E)."""
    return np.concatenate([x[b, :, :n].transpose(1, 0, 2) for b, n in enumerate(lengths)]
                          + [np.zeros((0, x.shape[1], x.shape[3]), x.dtype)])


def _sequence(a, q, k, v, b, N, dt):
    """Queries (N, Hq, E) with keys (L, Hkv, E) of one sequence."""
    L = len(k)
    group = a.Hq // a.Hkv if a.Hkv else 1
    scale = 1 / math.sqrt(a.E if a.E < 8 else -(-a.E // 8) * 8) if a.scale is None else a.scale
    first = a.P if a.causal_alignment == "top_left" else L - N
    p, j = np.arange(len(q))[:, None] + first, np.arange(L)
    see = np.ones((len(q), L), bool)
    if a.is_causal:
        see &= j <= p
    if a.window is not None:
        if a.window[0] is not None:
            see &= p - j <= a.window[0]
        if a.window[1] is not None:
            see &= j - p <= a.window[1]
    out = np.zeros((len(q), a.Hq, a.Ev), dt)
    lse = np.full((len(q), a.Hq), -np.inf, dt)
    for h in range(a.Hq):
        s = dt.type(scale) * (q[:, h] @ k[:, h // group].T)
        if a.softcap:
            s = np.tanh(s / dt.type(a.softcap)) * dt.type(a.softcap)
        if a.alibi_slopes is not None:
            s = s - np.abs(p - j).astype(dt) * dt.type(a.alibi_slopes[h])
        ok = see
        if a.mask is not None:
            t = np.broadcast_to(a.mask, (a.B, a.Hq, a.Sq, a.T))[b, h, :len(q), :L]
            if t.dtype == np.bool_:
                ok = see & t
            else:
                ok = see & (t != -np.inf)
                s = s + t.astype(dt)
        s = np.where(ok, s, dt.type(-np.inf))
        row = s
        if a.sinks is not None:
            row = np.concatenate([s, np.full((len(q), 1), a.sinks[h], dt)], 1)
        m = row.max(1, keepdims=True, initial=-np.inf)
        m = np.where(m == -np.inf, 0, m)
        total = np.exp(row - m).sum(1, keepdims=True)
        w = np.where(total == 0, 0, np.exp(s - m) / total)
        out[:, h] = base.weigh(w, v[:, h // group], ok)
        lse[:, h] = (m + np.log(total))[:, 0]
    return out, lse


def _run(a):
    dt = base.wide(a.query.dtype)
    k, v = a.key, a.value
    if a.P:
        k, v = np.concatenate([a.past_key, k], 2), np.concatenate([a.past_value, v], 2)
    kl = [a.T] * a.B if a.key_lengths is None else [int(n) for n in a.key_lengths]
    ql = [a.Sq] * a.B if a.query_lengths is None else [int(n) for n in a.query_lengths]
    cu_k, cu_q = np.concatenate([[0], np.cumsum(kl)]).astype(int), np.concatenate([[0], np.cumsum(ql)]).astype(int)
    q, k, v = _pack(a.query.astype(dt), ql), _pack(k.astype(dt), kl), _pack(v.astype(dt), kl)
    out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), dt)
    lse = np.zeros((a.B, a.Hq, a.Sq), dt)
    for b in range(a.B):
        o, e = _sequence(a, q[cu_q[b]:cu_q[b + 1]], k[cu_k[b]:cu_k[b + 1]], v[cu_k[b]:cu_k[b + 1]], b, ql[b], dt)
        out[b, :, :ql[b]] = o.transpose(1, 0, 2)
        lse[b, :, :ql[b]] = e.T
    return {"output": out.astype(a.query.dtype), "logsumexp": lse.astype(dt)}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    with np.errstate(all="ignore"):
        return _run(a)
