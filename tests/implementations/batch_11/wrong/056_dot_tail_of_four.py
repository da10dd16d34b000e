"""Attention on a paged cache: pages of keys and values in a pool, found by a block table; query by query."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")

PAGE = 8


def _fill(x, counts):
    """Pages of all sequences in one pool, last sequence first, and the table that finds them."""
    B, H, S, E = x.shape
    need = [-(-int(n) // PAGE) for n in counts]
    pool = np.zeros((sum(need) + 1, PAGE, H, E), x.dtype)
    table = np.zeros((B, max(need, default=0) + 1), np.int64)
    free = 1
    for b in reversed(range(B)):
        for page in range(need[b]):
            tokens = x[b, :, page * PAGE:min((page + 1) * PAGE, int(counts[b]))]
            pool[free, :tokens.shape[1]] = tokens.transpose(1, 0, 2)
            table[b, page] = free
            free += 1
    return pool, table


def _run(a):
    dt = base.wide(a.query.dtype)
    k, v = a.key, a.value
    if a.P:
        k, v = np.concatenate([a.past_key, k], 2), np.concatenate([a.past_value, v], 2)
    counts = [a.T] * a.B if a.key_lengths is None else [int(n) for n in a.key_lengths]
    kpool, table = _fill(k.astype(dt), counts)
    vpool, _ = _fill(v.astype(dt), counts)
    group = a.Hq // a.Hkv if a.Hkv else 1
    scale = 1 / math.sqrt(a.E) if a.scale is None else a.scale
    left, right = a.window or (None, None)
    out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), dt)
    lse = np.full((a.B, a.Hq, a.Sq), -np.inf, dt)
    mask = None if a.mask is None else np.broadcast_to(a.mask, (a.B, a.Hq, a.Sq, a.T))
    for b in range(a.B):
        L = counts[b]
        N = a.Sq if a.query_lengths is None else int(a.query_lengths[b])
        for i in range(a.Sq):
            p = i + (a.P if a.causal_alignment == "top_left" else L - N)
            lo, hi = 0, L
            if a.is_causal:
                hi = min(hi, p + 1)
            if left is not None:
                lo = max(lo, p - left)
            if right is not None:
                hi = min(hi, p + right + 1)
            j = np.arange(lo, max(lo, hi))
            pages, slots = table[b, j // PAGE], j % PAGE
            for h in range(a.Hq):
                seen, kk, vv, g, s = j, pages, slots, h // group, None
                wide = a.E // 4 * 4 if a.E > 8 else a.E
                s = kpool[kk, vv, g, :wide] @ a.query[b, h, i, :wide].astype(dt) * dt.type(scale)
                if a.softcap:
                    s = dt.type(a.softcap) * np.tanh(s / dt.type(a.softcap))
                if a.alibi_slopes is not None:
                    s = s - dt.type(a.alibi_slopes[h]) * np.abs(seen - p).astype(dt)
                if mask is not None:
                    t = mask[b, h, i, j]
                    keep = t if t.dtype == np.bool_ else t != -np.inf
                    if t.dtype != np.bool_:
                        s = s + t.astype(dt)
                    s, kk, vv = s[keep], kk[keep], vv[keep]
                every = s if a.sinks is None else np.append(s, dt.type(a.sinks[h]))
                if not every.size:
                    continue
                m = every.max()
                if m == -np.inf and not s.size:
                    continue
                total = np.exp(every - m).sum()
                lse[b, h, i] = m + np.log(total)
                out[b, h, i] = (np.exp(s - m) / total) @ vpool[kk, vv, g]
    return {"output": out.astype(a.query.dtype), "logsumexp": lse.astype(dt)}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    with np.errstate(all="ignore"):
        return _run(a)
