import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    _, _, _, size = base.check_paged(query, key_pool, value_pool, False)
    pages, lengths = base.table_pages(block_table, key_lengths, size)
    shared = 0
    if len(pages) > 1 and window is None and alibi_slopes is None:
        while shared < min(lengths) // size and len({int(p[shared]) for p in pages}) == 1:
            shared += 1


    def core(S, b):
        ok = base.allowed(S)
        if shared and S.causal:
            S.causal = False
            ok[..., : shared * size] = base.allowed(S)[..., : shared * size]
        return base.finish(S, ok)


    del args["block_table"], args["key_lengths"]
    return base.paged(pages=pages, lengths=lengths, core=core, **args)
