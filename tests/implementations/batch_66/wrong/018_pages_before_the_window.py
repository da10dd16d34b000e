import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    size = key_pool.shape[1]

    def skip(s, b):
        if window is not None and window[0] is not None:
            newest = int(s.offset[0]) + int(s.count[0]) - 1
            first_page = max(0, newest - int(window[0])) // size
            s.allowed = base.with_mask(s, base.structure(s) & (np.arange(s.keys) >= first_page * size))

    return base.paged(locals(), adjust=skip)
