import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, k, v = base.pools(query, key_pool, value_pool, False)
    size, batch = k.shape[1], len(query)
    base.list_pages(page_starts, page_indices, last_page_length, batch, size)
    starts, indices, last = (np.asarray(array).astype(np.int64) for array in (page_starts, page_indices, last_page_length))
    lengths = np.maximum((np.diff(starts) - 1) * size + last, 0)
    lengths = lengths if len(indices) else np.zeros_like(lengths)
    pages = [indices[np.minimum(starts[b] + np.arange(-(-int(lengths[b]) // size)), len(indices) - 1)] for b in range(batch)]
    return base.paged(query, k, v, pages, lengths, query_lengths, mask, **rest)
