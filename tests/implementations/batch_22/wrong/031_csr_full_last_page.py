"""The length of the last page is taken modulo the page size, so that a full last page counts as an empty one."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, **kw):
    size = key_pool.shape[1]
    lengths = []
    for b in range(query.shape[0]):
        n = int(page_starts[b + 1]) - int(page_starts[b])
        lengths.append((n - 1) * size + int(last_page_length[b]) % size if n else 0)

    def tokens(b):
        own = page_indices[int(page_starts[b]):int(page_starts[b + 1])]
        return [base.gather(pool, own, lengths[b], False) for pool in (key_pool, value_pool)]
    return base.batched(query, tokens, value_pool.shape[3], query_lengths, **kw)


layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    return attend(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                  query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
