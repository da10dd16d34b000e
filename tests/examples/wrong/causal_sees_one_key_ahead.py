"""Attention whose causal mask starts one diagonal too far: query i sees key i + 1, too."""

import numpy as np

name = "causal, one key ahead"
dtypes = ("float64",)


def scaled_dot_product_attention(query, key, value, mask=None, *, is_causal=False, scale=None):
    if query.shape[1] != key.shape[1]:
        raise NotImplementedError("grouped heads")
    scores = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], k=1, dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value
