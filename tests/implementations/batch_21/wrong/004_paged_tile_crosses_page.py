import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged"
dtypes = base.FOUR
TILE = 16


def load(pool, flat, table, t, L):
    """Rows t to t + 16 of a sequence, those behind its end as zeros."""
    size = pool.shape[1]
    j = np.arange(t, min(t + TILE, L))
    if size >= TILE:  # a tile lies in one page: one look into the table
        rows = table[t // size] * size + t % size + np.arange(len(j))
        rows = np.minimum(rows, len(flat) - 1)
    else:
        rows = table[j // size] * size + j % size
    return base.up(flat[rows]).swapaxes(0, 1)


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    table = np.asarray(block_table).astype(int)
    base.need(table.ndim == 2 and len(table) == len(query), "batch")
    kp, vp, lengths, counts, m3 = base.check_paged(query, key_pool, value_pool, key_lengths, query_lengths, mask, False,
                                                   table.shape[1] * key_pool.shape[1], causal_alignment)
    nb, hq, sq, e = query.shape
    g = base.group(hq, kp.shape[2])
    flat_k, flat_v = (p.reshape(-1, *p.shape[2:]) for p in (kp, vp))
    out, lse = np.zeros((nb, hq, sq, vp.shape[3])), np.zeros((nb, hq, sq))
    factor = e**-0.5 if scale is None else scale
    for b in range(nb):
        L, n = lengths[b], counts[b]
        q, p = base.up(query[b, :, :n]), np.arange(n) + base.start_of(causal_alignment, L, n)
        m, l, acc = np.full((hq, n), -np.inf), np.zeros((hq, n)), np.zeros((hq, n, vp.shape[3]))
        for t in range(0, L, TILE):
            k, v = (np.repeat(load(pool, flat, table[b], t, L), g, axis=0) for pool, flat in ((kp, flat_k), (vp, flat_v)))
            j = np.arange(t, min(t + TILE, L))
            ok, bias = base.keep(p, j, hq, None if m3 is None else m3[..., j], is_causal, window, alibi_slopes)
            with base.quiet():
                s = np.where(ok, base.cap(np.einsum("hne,hke->hnk", q, k) * factor, softcap) + bias, -np.inf)
                new = np.maximum(m, s.max(-1))
                at = np.where(new == -np.inf, 0, new)
                x, old = np.where(ok, np.exp(s - at[..., None]), 0), np.exp(m - at)
                l, acc, m = l * old + x.sum(-1), acc * old[..., None] + base.weigh(x, v, ok), new
        out[b, :, :n], lse[b, :, :n] = base.finish(m, l, acc, None if sinks is None else base.up(sinks)[:, None])
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
