import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged_csr_heads_first"
dtypes = base.FOUR
conventions = {"logsumexp_base": "2"}
LOG2E = 1.4426950408889634


def merge(a, b):
    (m1, l1, o1), (m2, l2, o2) = a, b
    m = np.maximum(m1, m2)
    at = np.where(m == -np.inf, 0, m)
    c1, c2 = np.exp2(m1 - at), np.exp2(m2 - at)
    return m, l1 * c1 + l2 * c2, o1 * c1[..., None] + o2 * c2[..., None]


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Powers of two, a state for each page, and the states merged from the last page to the first."""
    size = key_pool.shape[2]
    lengths = base.csr_lengths(page_starts, last_page_length, size)
    _, _, L, N, m3 = base.check_paged(query, key_pool, value_pool, lengths, query_lengths, mask, True, None, causal_alignment)
    nb, hq, sq, e = query.shape
    hkv, ev = key_pool.shape[1], value_pool.shape[3]
    g = base.group(hq, hkv)
    out, lse = np.zeros((nb, hq, sq, ev)), np.zeros((nb, hq, sq))
    factor = e**-0.5 if scale is None else scale
    with base.quiet():
        for b in range(nb):
            n = N[b]
            state = np.full((hq, n), -np.inf), np.zeros((hq, n)), np.zeros((hq, n, ev))
            if sinks is not None:
                state = np.repeat(base.up(sinks)[:, None] * LOG2E, n, axis=1), np.ones((hq, n)), state[2]
            p = np.arange(n) + base.start_of(causal_alignment, L[b], n)
            for c in reversed(range(-(-L[b] // size))):
                j = np.arange(c * size, min(c * size + size, L[b]))
                page = int(page_indices[int(page_starts[b]) + c])
                k, v = base.up(key_pool[page, :, :len(j)]), base.up(value_pool[page, :, :len(j)])
                q = base.up(query[b, :, :n]).reshape(hkv, g, n, e)
                s = np.einsum("kgne,kje->kgnj", q, k).reshape(hq, n, len(j)) * factor
                ok, bias = base.keep(p, j, hq, None if m3 is None else m3[..., j], is_causal, window, alibi_slopes)
                s = np.where(ok, (base.cap(s, softcap) + bias) * LOG2E, -np.inf)
                m = s.max(-1)
                x = np.where(ok, np.exp2(s - np.where(m == -np.inf, 0, m)[..., None]), 0)
                state = merge((m, x.sum(-1), base.weigh(x, np.repeat(v, g, axis=0), ok)), state)
            m, l, o = state
            out[b, :, :n] = np.where((l == 0)[..., None], 0, o / np.where(l == 0, 1, l)[..., None])
            lse[b, :, :n] = np.where(l == 0, -np.inf, np.log2(l) + m)
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
