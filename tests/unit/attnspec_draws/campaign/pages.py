"""Attention over pages whose slots begin anew at 128: wrong in pages of more slots alone."""

import numpy as np

conventions = {"input_checks": "lenient", "masked_nonfinite": "propagates"}
dtypes = ("float64",)


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths):
    """Attend over the keys of each sequence, page after page."""
    page = key_pool.shape[1]
    if query.shape[1] != key_pool.shape[2]:
        raise NotImplementedError("groups")
    output = np.zeros((*query.shape[:3], value_pool.shape[-1]), query.dtype)
    for entry, length in enumerate(key_lengths):
        index = np.arange(length)
        slots = index % page % 128
        key, value = (pool[block_table[entry][index // page], slots].swapaxes(0, 1) for pool in (key_pool, value_pool))
        scores = query[entry] @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e300))
        output[entry] = weights / weights.sum(-1, keepdims=True).clip(1e-300) @ value
    return output
