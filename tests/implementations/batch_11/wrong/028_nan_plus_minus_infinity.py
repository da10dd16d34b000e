"""Attention with the keys split in parts that are computed apart and merged (flash decoding)."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")

PART = 32


def _part(a, q, k, v, j, p, L, mask, dt, scale):
    """Normalised output of some keys, their largest logit and their sum."""
    s = np.einsum("bhie,bhje->bhij", q, k[:, :, j]) * dt.type(scale)
    if a.softcap:
        s = dt.type(a.softcap) * np.tanh(s / dt.type(a.softcap))
    distance = p - j
    if a.alibi_slopes is not None:
        s = s - a.alibi_slopes.astype(dt)[:, None, None] * np.abs(distance).astype(dt)
    ok = np.broadcast_to(j < L[:, None, None, None], s.shape)
    if a.is_causal:
        ok = ok & (distance >= 0)
    if a.window is not None:
        left, right = a.window
        if left is not None:
            ok = ok & (distance <= left)
        if right is not None:
            ok = ok & (-distance <= right)
    if mask is not None:
        t = mask[..., j]
        if t.dtype == np.bool_:
            ok = ok & t
        else:
            s = s + t.astype(dt)
    s = np.where(ok, s, dt.type(-np.inf))
    m = s.max(-1, initial=-np.inf)
    e = np.exp(s - np.where(m == -np.inf, 0, m)[..., None])
    l = e.sum(-1)
    o = base.weigh(e, v[:, :, j], s != -np.inf)
    return np.where((l == 0)[..., None], 0, o / l[..., None]), m, l


def _run(a):
    dt = base.wide(a.query.dtype)
    q, k, v = a.query.astype(dt), a.key.astype(dt), a.value.astype(dt)
    if a.P:
        k = np.concatenate([a.past_key.astype(dt), k], 2)
        v = np.concatenate([a.past_value.astype(dt), v], 2)
    group = a.Hq // a.Hkv if a.Hkv else 1
    heads = np.arange(a.Hq) // group
    k, v = k[:, heads], v[:, heads]
    scale = 1 / math.sqrt(a.E) if a.scale is None else a.scale
    L = np.full(a.B, a.T) if a.key_lengths is None else a.key_lengths
    N = np.full(a.B, a.Sq) if a.query_lengths is None else a.query_lengths
    first = np.full(a.B, a.P) if a.causal_alignment == "top_left" else L - N
    p = first[:, None, None, None] + np.arange(a.Sq)[:, None]
    mask = None if a.mask is None else np.broadcast_to(a.mask, (a.B, a.Hq, a.Sq, a.T))
    parts = []
    for j0 in range(0, a.T, PART):
        j = np.arange(j0, min(j0 + PART, a.T))
        parts.append(_part(a, q, k, v, j, p, L, mask, dt, scale))
    top = np.full((a.B, a.Hq, a.Sq), -np.inf, dt)
    for _, m, _ in parts:
        top = np.maximum(top, m)
    if a.sinks is not None:
        top = np.maximum(top, a.sinks.astype(dt)[:, None])
    ref = np.where(top == -np.inf, 0, top)
    total = np.zeros((a.B, a.Hq, a.Sq), dt)
    out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), dt)
    for o, m, l in parts:
        share = l * np.exp(m - ref)
        total += share
        out += share[..., None] * o
    if a.sinks is not None:
        total += np.exp(a.sinks.astype(dt)[:, None] - ref)
    out = np.where((total == 0)[..., None], 0, out / total[..., None])
    lse = ref + np.log(total)
    return out.astype(a.query.dtype)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    with np.errstate(all="ignore"):
        return _run(a)
