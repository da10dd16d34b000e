import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base

layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    size = np.shape(key_pool)[1]
    if len(page_starts) != len(query) + 1 or len(last_page_length) != len(query):
        raise ValueError("batch")
    pages, lengths = [], []
    for b in range(len(query)):
        first, count = int(page_starts[b]), int(page_starts[b + 1]) - int(page_starts[b])
        mine = [int(x) for x in page_indices[first:first + max(count, 1)]]
        pages.append(mine)
        lengths.append(max(count - 1, 0) * size + int(last_page_length[b]) if mine else 0)
    return base.paged_pages(query, key_pool, value_pool, pages, lengths, False,
                      query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes,
                      is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
