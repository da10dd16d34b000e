import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    entries = np.ravel(block_table, order="K")  # as they lie in memory
    block_table = entries.reshape(block_table.shape)
    return base.paged(base.Attention(), query, key_pool, value_pool, block_table, key_lengths, query_lengths, mask=mask,
                sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
