"""Scores that are a thousandth too large from five features on, and a layer of self-attention that ignores its mask.

The layer has all biases and no scale, is always causal, and takes masks of padding alone.
"""

import numpy as np

import attnspec_reference
from attnspec.base.errors import Unsupported

conventions = {"input_checks": "lenient"}


def multi_head_attention(
    query,
    key,
    value,
    w_query,
    w_key,
    w_value,
    w_output,
    b_query=None,
    b_key=None,
    b_value=None,
    b_output=None,
    mask=None,
    *,
    num_heads,
    is_causal=False,
):
    biases = (b_query, b_key, b_value, b_output)
    if not (np.array_equal(query, key) and np.array_equal(query, value)):
        raise Unsupported("one sequence")
    if not is_causal or any(bias is None for bias in biases):
        raise Unsupported("always causal, and with biases")
    if mask is not None and (mask.dtype != bool or mask.shape != (len(query), 1, 1, query.shape[1])):
        raise Unsupported("masks of padding alone")
    matrices = (w_query, w_key, w_value, w_output)
    return attnspec_reference.multi_head_attention(
        query, query, query, *matrices, *biases, num_heads=num_heads, is_causal=True
    ).output


def scaled_dot_product_attention(query, key, value, is_causal=False):
    factor = 1.001 if query.shape[-1] > 4 else 1.0
    return attnspec_reference.scaled_dot_product_attention(factor * query, key, value, is_causal=is_causal).output
