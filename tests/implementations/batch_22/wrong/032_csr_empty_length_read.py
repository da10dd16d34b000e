"""A sequence without pages gets last_page_length less the page size as its length, cut off at 0, so that what stands there is read where it exceeds the page size."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, **kw):
    size = key_pool.shape[2]
    starts = np.asarray(page_starts, dtype=np.int64)
    lengths = np.maximum((np.diff(starts) - 1) * size + np.asarray(last_page_length, dtype=np.int64), 0)

    def tokens(b):
        j = np.arange(lengths[b])
        at = np.minimum(starts[b] + j // size, len(page_indices) - 1)
        if len(page_indices) == 0:
            j = at = j[:0]
        page = np.asarray(page_indices, dtype=np.int64)[at]
        return [pool[page, :, j % size].swapaxes(0, 1) for pool in (key_pool, value_pool)]
    return base.batched(query, tokens, value_pool.shape[3], query_lengths, **kw)


layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    return attend(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                  query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
