import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    arguments = dict(locals())
    base.check_packed(arguments)
    if len(query) == len(key):  # self-attention
        arguments["key_starts"] = query_starts
    return base.packed(arguments)
