import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    key_pool, value_pool, counts = base.check_paged(query, key_pool, value_pool, False, query_lengths)
    size = key_pool.shape[1]
    starts, indices, last = base.check_list(query, page_starts, page_indices, last_page_length, size)
    pages, lengths = [], []
    for b in range(len(query)):
        full = max(int(starts[b + 1] - starts[b]) - 1, 0)
        length = max(full * size + int(last[b]), 0)
        lengths.append(length)
        pages.append(indices[starts[b]:starts[b] - (-length // size)])
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    return base.from_pages(base.Attention(), query, key_pool, value_pool, pages, lengths, counts, mask, rest)
