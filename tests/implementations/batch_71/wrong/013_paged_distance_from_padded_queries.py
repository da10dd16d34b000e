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
    def core(S, b):
        at = base.positions(S)
        if S.alignment == "bottom_right":
            at = at + (S.N - S.Sq)[:, None, None]
        return base.finish(S, alibi_at=at)


    return base.paged_table(core=core, **args)
