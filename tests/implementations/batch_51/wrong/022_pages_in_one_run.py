import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    size = base.page_size(np.asarray(key_pool), False)
    pages, lengths = base.pages_of_table(block_table, key_lengths, size)
    for b, own in enumerate(pages):
        if len(own) > 1 and int(own[-1]) - int(own[0]) == len(own) - 1:  # one run: a slice of the pool
            pages[b] = np.arange(int(own[0]), int(own[-1]) + 1)
    return base.paged(query, key_pool, value_pool, pages, lengths, **options)
