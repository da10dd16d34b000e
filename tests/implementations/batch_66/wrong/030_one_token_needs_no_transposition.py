import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


def scaled_dot_product_attention(
    query, key, value, mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
    query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None, output_dtype=None,
):
    arguments = dict(locals())
    base.refuse(query.ndim != 4 or key.ndim != 4 or value.ndim != 4, "rank")
    one_token = query.shape[1] == 1
    for name in ("query", "key", "value"):
        array = arguments[name]
        batch, tokens, heads, width = array.shape
        if one_token:
            arguments[name] = array.reshape(batch, heads, tokens, width)
        else:
            arguments[name] = array.transpose(0, 2, 1, 3)
    return {"output": base.finish(base.prepare(arguments))["output"].transpose(0, 2, 1, 3).copy()}
