import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_heads_first"


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    key_pool, value_pool = np.asarray(key_pool), np.asarray(value_pool)
    size = base.page_size(key_pool, True)
    pages, lengths = base.pages_of_table(block_table, key_lengths, size)
    base.check_paged(query, key_pool, value_pool, True, len(pages), query_lengths)
    for own, length in zip(pages, lengths):
        if length % size and value_pool.flags.writeable:  # a weight of 0 must not meet NaN
            value_pool[own[-1], :, length % size :] = 0
    return base.paged(query, key_pool, value_pool, pages, lengths, heads_first=True, **options)
