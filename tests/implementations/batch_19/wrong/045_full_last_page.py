"""Pages by a list of indices."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None):
    size = key_pool.shape[1]
    starts = np.asarray(page_starts).astype(int)
    tables, lengths = [], []
    for b in range(len(query)):
        pages = page_indices[starts[b]:starts[b + 1]]
        tables.append(pages)
        rest = int(last_page_length[b]) % size
        lengths.append((len(pages) - 1) * size + rest if len(pages) else 0)
    return base.paged(query, key_pool, value_pool, tables, lengths, query_lengths, mask, sinks=sinks, alibi_slopes=alibi_slopes,
                      is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
