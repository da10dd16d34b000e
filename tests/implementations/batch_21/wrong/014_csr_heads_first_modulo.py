import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged_csr_heads_first"
dtypes = base.FOUR


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Page by page, by recursion over the pages of a sequence."""
    size = key_pool.shape[2]
    lengths = base.csr_lengths(page_starts, last_page_length, size)
    _, _, L, N, m3 = base.check_paged(query, key_pool, value_pool, lengths, query_lengths, mask, True, None, causal_alignment)
    nb, hq, sq, e = query.shape
    hkv, ev = key_pool.shape[1], value_pool.shape[3]
    kv_of = np.array([h % hkv for h in range(hq)], int)
    out, lse = np.zeros((nb, hq, sq, ev)), np.zeros((nb, hq, sq))

    def state(b, lo, hi):
        """Over the pages lo to hi of sequence b: (m, l, acc)."""
        n = N[b]
        if hi - lo > 1:
            mid = (lo + hi) // 2
            (m1, l1, a1), (m2, l2, a2) = state(b, lo, mid), state(b, mid, hi)
            with base.quiet():
                m = np.maximum(m1, m2)
                at = np.where(m == -np.inf, 0, m)
                c1, c2 = np.exp(m1 - at), np.exp(m2 - at)
                return m, l1 * c1 + l2 * c2, a1 * c1[..., None] + a2 * c2[..., None]
        if hi == lo:
            return np.full((hq, n), -np.inf), np.zeros((hq, n)), np.zeros((hq, n, ev))
        j = np.arange(lo * size, min(hi * size, L[b]))
        page = int(page_indices[page_starts[b] + lo])
        k, v = (base.up(pool[page][:, :len(j)])[kv_of] for pool in (key_pool, value_pool))
        p = np.arange(n) + base.start_of(causal_alignment, L[b], n)
        ok, bias = base.keep(p, j, hq, None if m3 is None else m3[..., j], is_causal, window, alibi_slopes)
        with base.quiet():
            s = base.up(query[b, :, :n]) @ k.swapaxes(1, 2) * (e**-0.5 if scale is None else scale)
            s = np.where(ok, base.cap(s, softcap) + bias, -np.inf)
            m = s.max(-1)
            x = np.where(ok, np.exp(s - np.where(m == -np.inf, 0, m)[..., None]), 0)
        return m, x.sum(-1), base.weigh(x, v, ok)

    for b in range(nb):
        n = N[b]
        out[b, :, :n], lse[b, :, :n] = base.finish(*state(b, 0, -(-L[b] // size)),
                                                   None if sinks is None else base.up(sinks)[:, None])
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
