import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base

layout = "paged_heads_first"


def decode(query, key_pool, value_pool, block_table, key_lengths, window, **rest):
    """One new token for each sequence: it may look back at all that is cached."""
    if window is not None:
        window = [None, window[1]]
    return base.paged_heads_first(query, key_pool, value_pool, block_table, key_lengths, window=window, **rest)


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    run = decode if np.ndim(query) == 4 and np.shape(query)[2] == 1 else base.paged_heads_first
    return run(query, key_pool, value_pool, block_table, key_lengths,
               query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes,
                      is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
