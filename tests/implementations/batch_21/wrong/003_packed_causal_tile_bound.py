import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "packed"
dtypes = base.FOUR
ROWS, COLS = 16, 16


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """The query heads of a key head are rows of one tile: row r is token r // G, head r % G of the group."""
    qs, ks, m3 = base.check_packed(query, key, value, query_starts, key_starts, mask, causal_alignment)
    tq, hq, e = query.shape
    hkv, ev = key.shape[1], value.shape[2]
    g = base.group(hq, hkv)
    factor = e**-0.5 if scale is None else scale
    out, lse = np.zeros((tq, hq, ev)), np.full((tq, hq), -np.inf)
    for b in range(len(qs) - 1):
        n, L = qs[b + 1] - qs[b], ks[b + 1] - ks[b]
        offset = base.start_of(causal_alignment, L, n)
        for h in range(hkv):
            rows = base.up(query[qs[b]:qs[b + 1], h * g:(h + 1) * g]).reshape(n * g, e)
            for r0 in range(0, n * g, ROWS):
                r = np.arange(r0, min(r0 + ROWS, n * g))
                p, head = r // g + offset, h * g + r % g
                blocks = -(-L // COLS)
                if is_causal:  # tiles beyond the last query of this tile hold nothing for it
                    blocks = min(blocks, max(1, -(-int(p[-1]) // COLS)))
                m, l, acc = np.full(len(r), -np.inf), np.zeros(len(r)), np.zeros((len(r), ev))
                for t in range(blocks):
                    j = np.arange(t * COLS, min(t * COLS + COLS, L))
                    k, v = base.up(key[ks[b] + j, h]), base.up(value[ks[b] + j, h])
                    d = p[:, None] - j
                    ok = np.ones(d.shape, bool)
                    if is_causal:
                        ok &= d >= 0
                    if window is not None:
                        if window[0] is not None:
                            ok &= d <= window[0]
                        if window[1] is not None:
                            ok &= d >= -window[1]
                    with base.quiet():
                        s = base.cap(rows[r] @ k.T * factor, softcap)
                        if alibi_slopes is not None:
                            s = s - base.up(alibi_slopes)[head][:, None] * abs(d)
                        if m3 is not None:
                            part = m3[head if m3.shape[0] > 1 else np.zeros_like(head), 0][:, j]
                            if part.dtype == bool:
                                ok &= part
                            else:
                                ok &= base.up(part) != -np.inf
                                s = s + base.up(part)
                        s = np.where(ok, s, -np.inf)
                        new = np.maximum(m, s.max(-1, initial=-np.inf))
                        at = np.where(new == -np.inf, 0, new)
                        x = np.where(ok, np.exp(s - at[:, None]), 0)
                        old = np.exp(m - at)
                        l, acc, m = l * old + x.sum(-1), acc * old[:, None] + base.weigh(x, v, ok), new
                o, z = base.finish(m, l, acc, None if sinks is None else base.up(sinks)[head])
                out[qs[b] + r // g, head], lse[qs[b] + r // g, head] = o, z
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
