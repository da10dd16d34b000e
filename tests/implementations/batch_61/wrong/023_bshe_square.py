import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


class Mine(base.Attention):
    pass


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    arguments = dict(locals())
    for name in ("query", "key", "value", "past_key", "past_value"):
        if arguments[name] is not None:
            base.refuse(arguments[name].ndim != 4, "rank")
            arguments[name] = arguments[name].swapaxes(1, 2)
    output = Mine().run(**arguments)["output"]
    if output.shape[:3] != query.shape[:3]:
        output = output.swapaxes(1, 2)
    return {"output": output}
