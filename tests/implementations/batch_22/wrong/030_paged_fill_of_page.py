"""How many slots of a page are filled is kept once for each page: of two sequences that share a page the later one decides how much of it the earlier one reads."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, **kw):
    size = key_pool.shape[1]
    fill = np.zeros(key_pool.shape[0], np.int64)  # how many slots of each page hold keys
    table = np.asarray(block_table, dtype=np.int64)
    for b, L in enumerate(np.asarray(key_lengths, dtype=np.int64)):
        for t in range(-(-L // size)):
            fill[table[b, t]] = min(size, L - t * size)
    rows = []

    def tokens(b):
        L = int(key_lengths[b])
        j = np.arange(L)
        page, slot = table[b][j // size], j % size
        rows.append(slot < fill[page])
        return key_pool[page, slot].swapaxes(0, 1), value_pool[page, slot].swapaxes(0, 1)

    def inner(q, k, v, **kw):
        seen = rows[-1][None]
        m = base.columns(mask, k.shape[1])
        if m is None:
            m = seen
        elif m.dtype == bool:
            m = m & seen
        else:
            m = np.where(seen, m.astype(np.float64), -np.inf)
        m = base.rank4(m)
        r = base.dense(q[None], k[None], v[None], mask=m, **kw)
        return r["output"][0], r["logsumexp"][0]
    return base.batched(query, tokens, value_pool.shape[3], query_lengths, inner=inner, **kw)


layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    return attend(query, key_pool, value_pool, block_table, key_lengths,
                  query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
