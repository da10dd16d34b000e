import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"

TILE = 8


def gather(pool, pages, length, heads_first):
    size = pool.shape[1]
    tile = min(size, TILE)
    parts = [pool[:0, 0]]
    for start in range(0, int(length), tile):
        slots = start % size + np.arange(tile)  # a tile lies in one page
        parts.append(pool[pages[start // size], np.minimum(slots, size - 1)])
    return np.concatenate(parts)[:length].swapaxes(0, 1)


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    pages, lengths = base.pages_of_table(block_table, key_lengths, base.page_size(np.asarray(key_pool), False))
    return base.paged(query, key_pool, value_pool, pages, lengths, gather=gather, **options)
