import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.scaled_dot_product_attention(
        query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes, is_causal,
        causal_alignment, scale, softcap, window)["output"]
    return result.squeeze(2) if past_key is not None and result.shape[2] == 1 else result

dtypes = ("float64", "float32")
