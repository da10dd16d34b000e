import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def bias(c):
    if c.alibi_slopes is not None:
        if c.is_causal:         # the difference is one number for each query
            c.logits = c.logits + c.alibi_slopes.astype(c.wide)[None, :, None, None] * np.arange(c.T).astype(c.wide)
        else:
            base.bias(c)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.attend(dict(locals()), bias=bias)
    return result

dtypes = ("float64", "float32")
