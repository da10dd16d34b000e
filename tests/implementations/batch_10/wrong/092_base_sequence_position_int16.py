import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def bias(c):
    if c.alibi_slopes is not None:
        distance = np.abs((c.p[:, None, :, None] - np.arange(c.T)).astype(np.int8))
        c.logits = c.logits - c.alibi_slopes.astype(c.wide)[None, :, None, None] * distance.astype(c.wide)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.attend(dict(locals()), bias=bias)
    return result["output"]

dtypes = ("float64", "float32")
