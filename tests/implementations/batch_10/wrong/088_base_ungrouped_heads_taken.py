import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    heads, shared = query.shape[1], key.shape[1]
    if query.ndim == 4 and key.ndim == 4 and shared and heads % shared and heads > shared and value.shape[1] == shared:
        index = np.arange(heads) * shared // heads
        key, value = key[:, index], value[:, index]
        if past_key is not None:
            past_key, past_value = past_key[:, index], past_value[:, index]
    return base.scaled_dot_product_attention(**dict(
        query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
        query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window))["output"]

dtypes = ("float64", "float32")
