import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


class Attention(base.Attention):
    def distance(self):
        if self.Sq == 1:  # decoding: the query is the last token
            return np.abs(int(self.L[0]) - 1 - np.arange(self.T)).astype(self.work)[None, None, None]
        return super().distance()


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    pages, lengths = base.pages_of_table(block_table, key_lengths, base.page_size(np.asarray(key_pool), False))
    return base.paged(query, key_pool, value_pool, pages, lengths, make=lambda b: Attention(), **options)
