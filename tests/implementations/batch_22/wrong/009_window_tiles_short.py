"""With a window the last tile of 16 keys is left out where only its first key lies within the window."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

TILE = 16


def row(q, k, v, ok, bias, scale, softcap, sink, lo, hi):
    """one query over the tiles from that of lo to that of the last key below hi"""
    first, last = lo // TILE, (hi - 1 + TILE - 1) // TILE
    m, l, acc = (-np.inf, 0.0, 0) if sink is None else (sink, 1.0, 0)
    acc = np.zeros(v.shape[1])
    for t in range(first, max(last, first + 1)):
        j = np.flatnonzero(ok[t * TILE:(t + 1) * TILE]) + t * TILE
        if not len(j):
            continue
        s = base.cap(k[j] @ q * scale, softcap) + bias[j]
        new = np.maximum(m, s.max())
        safe = 0.0 if new == -np.inf else new
        a, p = np.exp(m - safe), np.exp(s - safe)
        l, acc, m = l * a + p.sum(), acc * a + (p[:, None] * v[j]).sum(0), new
    return (acc / l, np.log(l) + m) if l != 0 else (acc, -np.inf)


def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    out = np.zeros((c.B, c.Hq, c.Sq, c.Ev))
    lse = np.full((c.B, c.Hq, c.Sq), -np.inf)
    with np.errstate(all="ignore"):
        for b, h, i in np.ndindex(c.B, c.Hq, c.Sq):
            lo, hi = 0, c.St
            if c.window is not None:
                left, right = c.window
                lo = lo if left is None else min(max(c.pos[b, i] - left, 0), c.St)
                hi = hi if right is None else max(min(c.pos[b, i] + right + 1, c.St), 0)
                bounded = right is not None and hi < c.St
            if c.window is None or not bounded:
                hi = -(-c.St // TILE) * TILE + 1
            g = h // c.group
            out[b, h, i], lse[b, h, i] = row(c.q[b, h, i], c.k[b, g], c.v[b, g], c.ok[b, h, i], c.bias[b, h, i], c.scale,
                                             c.softcap, None if c.sinks is None else c.sinks[h], lo, hi)
    return base.finish(c, out, lse)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
