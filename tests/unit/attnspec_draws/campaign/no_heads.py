"""Right, and always causal, so that the golden cases never ask it without heads, nor with batches that do not fit."""

import numpy as np

dtypes = ("float64",)
conventions = {"causal_alignment": "bottom_right", "masked_nonfinite": "propagates", "fully_masked_row": "nan"}
without = ("empty_keys",)


def scaled_dot_product_attention(query, key, value, is_causal=False):
    if not is_causal:
        raise NotImplementedError("causal alone")
    group = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    queries, keys = query.shape[2], key.shape[2]
    allowed = np.tri(queries, keys, keys - queries, dtype=bool)
    scores = np.where(allowed, query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value
