"""A target that ends its process where a draw has a softcap."""

import os

import attnspec_reference


def scaled_dot_product_attention(query, key, value, softcap=None, scale=None, is_causal=False):
    if softcap:
        os._exit(3)
    return attnspec_reference.scaled_dot_product_attention(
        query, key, value, softcap=softcap, scale=scale, is_causal=is_causal
    ).output
