import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged_heads_first"
dtypes = base.FOUR


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """Pages that lie before the windows of all queries are not loaded."""
    table = np.asarray(block_table).astype(int)
    base.need(table.ndim == 2 and len(table) == len(query), "batch")
    kp, vp, lengths, counts, m3 = base.check_paged(query, key_pool, value_pool, key_lengths, query_lengths, mask, True,
                                                   table.shape[1] * key_pool.shape[2], causal_alignment)
    nb, hq, sq, e = query.shape
    size, g = kp.shape[1], base.group(hq, kp.shape[2])
    left, right = (None, None) if window is None else window
    out, lse = np.zeros((nb, hq, sq, vp.shape[3])), np.zeros((nb, hq, sq))
    for b in range(nb):
        L, n = int(lengths[b]), int(counts[b])
        offset = base.start_of(causal_alignment, L, n)
        first = 0 if left is None else max(offset - left, 0) // size
        pages = table[b, first:-(-L // size)]
        count = max(L - first * size, 0)
        k, v = (pool[pages].reshape(-1, *pool.shape[2:])[:count] for pool in (kp, vp))
        k, v = (np.repeat(base.up(a).swapaxes(0, 1), g, axis=0) for a in (k, v))
        p, c = offset + np.arange(n)[:, None], np.arange(count)[None, :]
        j = c + first * size
        ok = np.ones((hq, n, count), bool)
        if is_causal:
            ok &= j <= p
        if left is not None:
            ok &= p - j <= left
        if right is not None:
            ok &= j - p <= right
        with base.quiet():
            s = base.up(query[b, :, :n]) @ k.swapaxes(1, 2) * (e**-0.5 if scale is None else scale)
            s = base.cap(s, softcap)
            if alibi_slopes is not None:
                s = s - base.up(alibi_slopes)[:, None, None] * np.abs(p - c)
            if m3 is not None:
                part = m3[..., first * size:L]
                if part.dtype == bool:
                    ok &= part
                else:
                    ok &= base.up(part) != -np.inf
                    s = s + base.up(part)
            s = np.where(ok, s, -np.inf)
            m = s.max(-1, initial=-np.inf)
            x = np.where(ok, np.exp(s - np.where(m == -np.inf, 0, m)[..., None]), 0)
        out[b, :, :n], lse[b, :, :n] = base.finish(m, x.sum(-1), base.weigh(x, v, ok),
                                                   None if sinks is None else base.up(sinks)[:, None])
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
