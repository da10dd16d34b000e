"""A target whose scores are too large by a thousandth from five features on."""

import attnspec_reference


def scaled_dot_product_attention(query, key, value, is_causal=False):
    factor = 1.001 if query.shape[-1] > 4 else 1.0
    return attnspec_reference.scaled_dot_product_attention(factor * query, key, value, is_causal=is_causal).output
