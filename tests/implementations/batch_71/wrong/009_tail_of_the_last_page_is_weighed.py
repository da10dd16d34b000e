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
    _, _, value_pool, size = base.check_paged(query, key_pool, value_pool, False)
    pages, lengths = base.table_pages(block_table, key_lengths, size)


    def core(S, b):
        found = base.finish(S)
        if len(pages[b]):
            whole = base.gather(value_pool, pages[b], len(pages[b]) * size, False).astype(S.work)
            tail = np.repeat(whole[:, :, S.T:], S.G, axis=1)
            weights = np.zeros((S.B, S.Hq, S.Sq, tail.shape[2]), S.work)
            with np.errstate(all="ignore"):
                found["output"] = (found["output"].astype(S.work) + weights @ tail).astype(S.out)
        return found


    del args["block_table"], args["key_lengths"]
    return base.paged(pages=pages, lengths=lengths, core=core, **args)
