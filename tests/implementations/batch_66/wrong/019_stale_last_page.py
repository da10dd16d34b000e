import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def find_pages(a, batch, size):
    base.pages_of_list(a, batch, size)  # checks
    starts, indices = np.asarray(a["page_starts"]).astype(np.int64), np.asarray(a["page_indices"])
    lengths = (np.diff(starts) - 1) * size + np.asarray(a["last_page_length"]).astype(np.int64)
    lengths = np.maximum(lengths, 0)
    pages = [indices[starts[b] : starts[b] + -(-lengths[b] // size)] for b in range(batch)]
    return pages, np.minimum(lengths, [len(listed) * size for listed in pages])


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    return base.paged(locals(), csr=True, find_pages=find_pages)
