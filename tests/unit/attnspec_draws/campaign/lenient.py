"""A target that takes whatever NumPy takes."""

import numpy as np


def scaled_dot_product_attention(query, key, value):
    if query.shape[1] != key.shape[1] and query.ndim == 4:
        raise NotImplementedError("grouped heads")
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e300))
    return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300) @ value
