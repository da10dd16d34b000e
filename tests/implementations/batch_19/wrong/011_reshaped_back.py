"""Tokens before heads: turned round, computed, and brought back."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
layout = "bshe"


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    arguments = dict(locals())
    for name in ("query", "key", "value", "past_key", "past_value"):
        array = arguments[name]
        if array is not None and array.ndim == 4:
            arguments[name] = array.swapaxes(1, 2)
    c = base.prepare(**arguments)
    weights, lse = base.softmax(c, base.logits(c))
    output = base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)))["output"]
    return {"output": output.reshape(c.B, c.Sq, c.H, c.Ev)}
