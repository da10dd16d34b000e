import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    tokens = key_pool.shape[1] if key_pool.ndim == 4 else 1
    base.check_paged(query, key_pool, value_pool, False, query_lengths)
    table, lengths = base.check_table(query, block_table, key_lengths, tokens)
    key_pool, value_pool = np.array(key_pool), np.array(value_pool)
    for b in range(len(query)):  # what stands behind the last key may be NaN
        used = int(lengths[b]) % tokens
        if used:
            page = table[b, int(lengths[b]) // tokens]
            key_pool[page, used:] = 0
            value_pool[page, used:] = 0
    return base.paged(base.Attention(), query, key_pool, value_pool, block_table, key_lengths, query_lengths, mask=mask,
                sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
