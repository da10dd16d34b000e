"""A target that is wrong from 20 keys on."""

import attnspec_reference


def scaled_dot_product_attention(query, key, value, scale=None, is_causal=False):
    output = attnspec_reference.scaled_dot_product_attention(query, key, value, scale=scale, is_causal=is_causal).output
    return output * 1.5 if key.shape[2] >= 20 else output
