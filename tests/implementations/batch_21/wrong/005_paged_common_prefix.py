import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged"
dtypes = base.FOUR


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """Pages that all sequences begin with are read once for all of them; the rest is merged to it."""
    table = np.asarray(block_table).astype(int)
    base.need(table.ndim == 2 and len(table) == len(query), "batch")
    kp, vp, lengths, counts, m3 = base.check_paged(query, key_pool, value_pool, key_lengths, query_lengths, mask, False,
                                                   table.shape[1] * key_pool.shape[1], causal_alignment)
    nb, hq, sq, e = query.shape
    size, g = kp.shape[1], base.group(hq, kp.shape[2])
    common = 0
    if nb > 1:
        pages_of_all = -(-int(lengths.min()) // size)
        while common < pages_of_all and (table[:, common] == table[0, common]).all():
            common += 1
    prefix = common * size

    def part(b, j):
        """The unnormalized state of the queries of b over the keys at the positions j."""
        n = counts[b]
        p = np.arange(n) + base.start_of(causal_alignment, lengths[b], n)
        pages = table[b][j // size]
        k, v = (np.repeat(base.up(pool[pages, j % size]).swapaxes(0, 1), g, axis=0) for pool in (kp, vp))
        cut = None if m3 is None else np.take(m3, j, axis=-1, mode="clip")
        ok, bias = base.keep(p, j, hq, cut, is_causal, window, alibi_slopes)
        with base.quiet():
            s = base.up(query[b, :, :n]) @ k.swapaxes(1, 2) * (e**-0.5 if scale is None else scale)
            s = np.where(ok, base.cap(s, softcap) + bias, -np.inf)
            m = s.max(-1, initial=-np.inf)
            x = np.where(ok, np.exp(s - np.where(m == -np.inf, 0, m)[..., None]), 0)
        return m, x.sum(-1), base.weigh(x, v, ok)

    out, lse = np.zeros((nb, hq, sq, vp.shape[3])), np.zeros((nb, hq, sq))
    for b in range(nb):
        m1, l1, a1 = part(b, np.arange(prefix))
        m2, l2, a2 = part(b, np.arange(prefix, max(prefix, lengths[b])))
        with base.quiet():
            m = np.maximum(m1, m2)
            at = np.where(m == -np.inf, 0, m)
            c1, c2 = np.exp(m1 - at), np.exp(m2 - at)
            state = m, l1 * c1 + l2 * c2, a1 * c1[..., None] + a2 * c2[..., None]
        n = counts[b]
        out[b, :, :n], lse[b, :, :n] = base.finish(*state, None if sinks is None else base.up(sinks)[:, None])
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
