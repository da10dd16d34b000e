import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    size = base.page_size(np.asarray(key_pool), False)
    base.pages_of_list(page_starts, page_indices, last_page_length, size)
    pages = np.split(np.asarray(page_indices), np.asarray(page_starts)[1:-1])[: len(page_starts) - 1]
    lengths = [(len(own) - 1) * size + int(end) if len(own) else 0 for own, end in zip(pages, last_page_length)]
    return base.paged(query, key_pool, value_pool, pages, lengths, **options)
