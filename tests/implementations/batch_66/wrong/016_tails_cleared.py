import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def cleared(keys, values, pages, lengths):
    """Copies of the pools, in which slots behind the last key of a sequence hold no rubbish."""
    keys, values = keys.copy(), values.copy()
    for listed, length in zip(pages, lengths):
        if length % keys.shape[1]:
            keys[int(listed[-1]), int(length) % keys.shape[1] :] = 0
            values[int(listed[-1]), int(length) % keys.shape[1] :] = 0
    return keys, values


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    return base.paged(locals(), pools=cleared)
