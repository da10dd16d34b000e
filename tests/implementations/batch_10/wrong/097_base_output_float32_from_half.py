import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


dtypes = ("float32", "float16")


def finish(c):
    base.finish(c)
    if c.sinks is not None:                               # the path with sinks returns its accumulator
        c.result["output"] = c.output


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return base.attend(dict(locals()), finish=finish)["output"]
