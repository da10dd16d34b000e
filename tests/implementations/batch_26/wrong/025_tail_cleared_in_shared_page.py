import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = dict(locals())
    pages, lengths, size = base.check_paged(a)
    loaded = {}  # a page is loaded once for all sequences

    def load(pool, page):
        if (id(pool), page) not in loaded:
            loaded[id(pool), page] = pool[page].copy()
        return loaded[id(pool), page]

    def fetch(pool, b):
        mine = [load(pool, int(page)) for page in pages[b]]
        rest = lengths[b] % size
        if mine and rest:
            mine[-1][rest:] = 0  # whatever stands behind the last key must not do harm
        if not mine:
            return pool[:0].reshape((0,) + pool.shape[2:]).swapaxes(0, 1)
        return np.concatenate(mine)[: lengths[b]].swapaxes(0, 1)

    return base.paged(a, fetch=fetch)
