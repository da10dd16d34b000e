import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, k, v = base.pools(query, key_pool, value_pool, False)
    size = k.shape[1]
    pages, lengths = base.table_pages(block_table, key_lengths, len(query), size)
    k, v = k.copy(), v.copy()
    for b in range(len(query)):  # no NaN from slots that were never written
        used = int(lengths[b]) % size
        if used:
            k[pages[b][-1], used:] = 0
            v[pages[b][-1], used:] = 0
    return base.paged(query, k, v, pages, lengths, query_lengths, mask, **rest)
