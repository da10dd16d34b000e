"""A target that forgets the scale."""

import attnspec_reference


def scaled_dot_product_attention(query, key, value, is_causal=False):
    return attnspec_reference.scaled_dot_product_attention(query, key, value, is_causal=is_causal, scale=1.0).output
