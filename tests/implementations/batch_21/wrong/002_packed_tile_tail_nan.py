import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "packed"
dtypes = base.FOUR
TILE = 16


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Online softmax; a tile of keys is always 16 rows of the array, as long as the array has them."""
    qs, ks, m3 = base.check_packed(query, key, value, query_starts, key_starts, mask, causal_alignment)
    tq, hq, e = query.shape
    g = base.group(hq, key.shape[1])
    factor = e**-0.5 if scale is None else scale
    out, lse = np.zeros((tq, hq, value.shape[2])), np.zeros((tq, hq))
    sink = None if sinks is None else base.up(sinks)[:, None]
    for b in range(len(qs) - 1):
        n, L = qs[b + 1] - qs[b], ks[b + 1] - ks[b]
        q = base.up(query[qs[b]:qs[b + 1]]).swapaxes(0, 1)
        p = np.arange(n) + base.start_of(causal_alignment, L, n)
        m, l, acc = np.full((hq, n), -np.inf), np.zeros((hq, n)), np.zeros((hq, n, value.shape[2]))
        for t in range(0, L, TILE):
            lo, hi = ks[b] + t, min(ks[b] + t + TILE, len(key))
            j = np.arange(t, t + hi - lo)
            inside = j < L
            k, v = (np.repeat(base.up(a[lo:hi]).swapaxes(0, 1), g, axis=0) for a in (key, value))
            part = None if m3 is None else np.take(m3, j, axis=-1, mode="clip")
            ok, bias = base.keep(p, j, hq, part, is_causal, window, alibi_slopes)
            ok &= inside
            with base.quiet():
                s = np.where(ok, base.cap(q @ k.swapaxes(1, 2) * factor, softcap) + bias, -np.inf)
                new = np.maximum(m, s.max(-1))
                at = np.where(new == -np.inf, 0, new)
                x = np.where(ok, np.exp(s - at[..., None]), 0)
                old = np.exp(m - at)
                l = l * old + x.sum(-1)
                if np.isfinite(v[:, inside]).all():
                    more = x @ v  # one product: nothing to be careful about in this tile
                else:
                    more = np.where(ok[..., None], x[..., None] * v[:, None], 0).sum(-2)
                acc = acc * old[..., None] + more
                m = new
        o, z = base.finish(m, l, acc, sink)
        out[qs[b]:qs[b + 1]], lse[qs[b]:qs[b + 1]] = o.swapaxes(0, 1), z.T
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
