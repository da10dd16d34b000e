"""Attention in powers of two, the logarithm of e folded into the scale; keys taken one by one."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")

LOG2E = 1.44269504


def _run(a):
    dt = base.wide(a.query.dtype)
    k, v = a.key, a.value
    if a.P:
        k, v = np.concatenate([a.past_key, k], 2), np.concatenate([a.past_value, v], 2)
    group = a.Hq // a.Hkv if a.Hkv else 1
    scale = 1 / math.sqrt(a.E) if a.scale is None else a.scale
    L = np.full(a.B, a.T) if a.key_lengths is None else a.key_lengths
    N = np.full(a.B, a.Sq) if a.query_lengths is None else a.query_lengths
    first = np.full(a.B, a.P) if a.causal_alignment == "top_left" else L - N
    p = (first[:, None] + np.arange(a.Sq))[:, None]
    mask = None if a.mask is None else np.broadcast_to(a.mask, (a.B, a.Hq, a.Sq, a.T))
    q = a.query.astype(dt)
    m = np.full((a.B, a.Hq, a.Sq), -np.inf, dt)
    l = np.zeros((a.B, a.Hq, a.Sq), dt)
    acc = np.zeros((a.B, a.Hq, a.Sq, a.Ev), dt)
    if a.sinks is not None:
        m[:] = (a.sinks.astype(dt) * dt.type(LOG2E))[:, None]
        l[:] = m != -np.inf
    heads = np.arange(a.Hq) // group
    for j in range(a.T):
        kj, vj = k[:, heads, j].astype(dt), v[:, heads, j].astype(dt)
        if a.softcap:
            s = np.einsum("bhie,bhe->bhi", q, kj) * dt.type(scale / a.softcap)
            s = dt.type(a.softcap * LOG2E) * np.tanh(s)
        else:
            s = np.einsum("bhie,bhe->bhi", q, kj) * dt.type(scale * LOG2E)
        if a.alibi_slopes is not None:
            s = s - a.alibi_slopes.astype(dt)[:, None] * dt.type(LOG2E) * np.abs(p - j).astype(dt)
        ok = np.broadcast_to((j < L)[:, None, None], s.shape)
        if a.is_causal:
            ok = ok & (j <= p)
        if a.window is not None and a.window[0] is not None:
            ok = ok & (j >= p - a.window[0])
        if a.window is not None and a.window[1] is not None:
            ok = ok & (j <= p + a.window[1])
        if mask is not None:
            t = mask[..., j]
            if t.dtype == np.bool_:
                ok = ok & t
            else:
                ok = ok & (t != -np.inf)
                most = np.finfo(dt).max
                s = s + np.where(np.isfinite(t), np.clip(t.astype(dt) * dt.type(LOG2E), -most, most), t.astype(dt))
        top = np.where(ok, np.maximum(m, s), m)
        ref = np.where(top == -np.inf, 0, top)
        fix = np.exp2(m - ref)
        e = np.where(ok, np.exp2(s - ref), 0).astype(dt)
        l = l * fix + e
        acc = acc * fix[..., None] + np.where(ok[..., None], e[..., None] * vj[:, :, None], 0)
        m = top
    out = np.where((l == 0)[..., None], 0, acc / l[..., None])
    lse = (m + np.log2(l)) * dt.type(math.log(2))
    return out.astype(a.query.dtype)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    with np.errstate(all="ignore"):
        return _run(a)
