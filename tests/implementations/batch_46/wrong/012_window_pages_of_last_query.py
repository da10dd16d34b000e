import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


class Served(base.Steps):
    def reach(self, p, c):
        allowed = super().reach(p, c)
        if c.window is not None and c.window[0] is not None and c.N[0] > 0:
            newest = int(p[0, c.N[0] - 1])
            first_page = max(0, newest - int(c.window[0])) // c.page_size
            allowed[..., : first_page * c.page_size] = False  # pages behind the window are not read
        return allowed


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    return Served().paged(dict(locals()))
