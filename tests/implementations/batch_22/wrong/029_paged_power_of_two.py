"""The slot of a key is found with the bits of its number, which is right only for page sizes that are powers of two."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, **kw):
    size = key_pool.shape[1]

    def tokens(b):
        j = np.arange(int(key_lengths[b]))
        page, slot = np.asarray(block_table[b], dtype=np.int64)[j // size], j & (size - 1)
        return key_pool[page, slot].swapaxes(0, 1), value_pool[page, slot].swapaxes(0, 1)
    return base.batched(query, tokens, value_pool.shape[3], query_lengths, **kw)


layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    return attend(query, key_pool, value_pool, block_table, key_lengths,
                  query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
