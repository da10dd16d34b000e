"""Attention in tiles of queries and keys with a running maximum."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")

BM, BN = 8, 16


def _run(a):
    dt = base.wide(a.query.dtype)
    k, v = a.key, a.value
    if a.P:
        k, v = np.concatenate([a.past_key, k], 2), np.concatenate([a.past_value, v], 2)
    group = a.Hq // a.Hkv if a.Hkv else 1
    scale = 1 / math.sqrt(a.E) if a.scale is None else a.scale
    left, right = a.window or (None, None)
    mask = None if a.mask is None else np.broadcast_to(a.mask, (a.B, a.Hq, a.Sq, a.T))
    out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), dt)
    lse = np.full((a.B, a.Hq, a.Sq), -np.inf, dt)
    for b in range(a.B):
        L = a.T if a.key_lengths is None else int(a.key_lengths[b])
        N = a.Sq if a.query_lengths is None else int(a.query_lengths[b])
        first = a.P if a.causal_alignment == "top_left" else L - N
        for h in range(a.Hq if a.Hq < 4 else a.Hq // 4 * 4):
            kh, vh = k[b, h // group].astype(dt), v[b, h // group].astype(dt)
            for i0 in range(0, a.Sq, BM):
                i1 = min(i0 + BM, a.Sq)
                p = np.arange(i0, i1) + first
                lo, hi = 0, L
                if a.is_causal:
                    hi = min(hi, int(p[-1]) + 1)
                if right is not None:
                    hi = min(hi, int(p[-1]) + right + 1)
                if left is not None:
                    lo = max(lo, int(p[0]) - left)
                qi = a.query[b, h, i0:i1].astype(dt)
                m = np.full(i1 - i0, -np.inf, dt)
                l = np.zeros(i1 - i0, dt)
                acc = np.zeros((i1 - i0, a.Ev), dt)
                for j0 in range(lo // BN * BN, hi, BN):
                    j = np.arange(j0, min(j0 + BN, a.T))
                    s = qi @ kh[j].T * dt.type(scale)
                    if a.softcap:
                        s = dt.type(a.softcap) * np.tanh(s / dt.type(a.softcap))
                    if a.alibi_slopes is not None:
                        s = s - dt.type(a.alibi_slopes[h]) * np.abs(p[:, None] - j).astype(dt)
                    ok = np.repeat((j < L)[None], i1 - i0, 0)
                    if a.is_causal:
                        ok &= j <= p[:, None]
                    if left is not None:
                        ok &= j >= p[:, None] - left
                    if right is not None:
                        ok &= j <= p[:, None] + right
                    if mask is not None:
                        t = mask[b, h, i0:i1][:, j]
                        if t.dtype == np.bool_:
                            ok &= t
                        else:
                            ok &= t != -np.inf
                            s = s + t.astype(dt)
                    s = np.where(ok, s, dt.type(-np.inf))
                    top = np.maximum(m, s.max(1))
                    ref = np.where(top == -np.inf, 0, top)
                    fix = np.exp(m - ref)
                    e = np.exp(s - ref[:, None])
                    l = l * fix + e.sum(1)
                    acc = acc * fix[:, None] + base.weigh(e, vh[j], ok)
                    m = top
                if a.sinks is not None:
                    sink = dt.type(a.sinks[h])
                    top = np.maximum(m, sink)
                    ref = np.where(top == -np.inf, 0, top)
                    fix = np.exp(m - ref)
                    l = l * fix + np.exp(sink - ref)
                    acc = acc * fix[:, None]
                    m = top
                out[b, h, i0:i1] = np.where((l == 0)[:, None], 0, acc / l[:, None])
                lse[b, h, i0:i1] = m + np.log(l)
    return out.astype(a.query.dtype)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    with np.errstate(all="ignore"):
        return _run(a)
