import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None):
    a = dict(locals())
    pages, lengths, size = base.check_paged(a, heads_first=True)
    Hkv = key_pool.shape[1]

    def fetch(pool, b):
        pool = pool.swapaxes(1, 2)
        E = pool.shape[3]
        j = np.arange(lengths[b])
        page = pages[b][j // size]
        at = ((page * Hkv + np.arange(Hkv)[:, None]) * size + j % size)[..., None] * E + np.arange(E)
        return pool.ravel(order="K")[at]

    return base.paged(a, heads_first=True, fetch=fetch)
