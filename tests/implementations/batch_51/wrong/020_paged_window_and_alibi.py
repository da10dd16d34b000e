import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_heads_first"


class Attention(base.Attention):
    first = 0

    def place(self):
        super().place()
        if self.window is not None and self.window[0] is not None and self.Sq:
            # pages before the window of the first query are skipped
            self.first = max(0, int(self.position[0, 0]) - self.window[0]) // self.size * self.size

    def distance(self):
        return np.abs(self.position[:, None, :, None] - (np.arange(self.T) - self.first)).astype(self.work)


def sized(size):
    attention = Attention()
    attention.size = size
    return attention


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    size = base.page_size(np.asarray(key_pool), True)
    pages, lengths = base.pages_of_table(block_table, key_lengths, size)
    return base.paged(query, key_pool, value_pool, pages, lengths, heads_first=True, make=lambda b: sized(size), **options)
