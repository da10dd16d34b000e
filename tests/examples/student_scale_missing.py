"""Attention with a mask and causality, without the scale: the first thing that one forgets."""

import numpy as np

name = "student, no scale"
dtypes = ("float64", "float32")
mistake = "sdpa.scale_missing"


def scaled_dot_product_attention(query, key, value, mask=None, *, is_causal=False):
    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("grouped heads")
    scores = query @ key.swapaxes(-1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total) @ value
