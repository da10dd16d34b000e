import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    _, _, _, size = base.check_paged(query, key_pool, value_pool, True)


    def core(S, b):
        ok = base.allowed(S)
        if S.window is not None and S.window[0] is not None and S.Sq:
            last = int(S.start[0] + S.N[0] - 1)
            first_page = max(0, (last - S.window[0]) // size)
            ok[..., : first_page * size] = False
        return base.finish(S, ok)


    return base.paged_table(heads_first=True, core=core, **args)
