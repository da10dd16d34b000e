import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None):
    a = dict(locals())
    pages, lengths, size = base.check_paged(a)
    B = len(query)
    begin, last = base.ints(page_starts), base.ints(last_page_length)
    table = np.zeros((B, max([len(g) for g in pages], default=0)), np.int64)
    held = np.zeros(B, np.int64)
    for b in range(B):
        n = begin[b + 1] - begin[b]
        table[b, :n] = base.ints(page_indices)[begin[b] : begin[b + 1]]
        if n:
            held[b] = (n - 1) * size + last[b] % size
    d = {name: a[name] for name in base.COMMON} | {
        "query": query, "key_pool": key_pool, "value_pool": value_pool, "block_table": table, "key_lengths": held,
        "query_lengths": query_lengths, "mask": mask}
    return base.paged(d)
