import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    starts = np.asarray(query_starts).astype(np.int64), np.asarray(key_starts).astype(np.int64)


    def core(S, b):
        return base.finish(S, alibi_at=base.positions(S) + (starts[0][b] - starts[1][b]))


    return base.packed(core=core, **args)
