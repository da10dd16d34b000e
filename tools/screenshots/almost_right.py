"""Attention with two mistakes, for the screenshots: the causal mask hides the diagonal, the softmax may overflow."""

import numpy as np

name = "almost right"
version = "0.3"
dtypes = ("float64", "float32", "bfloat16")


def softmax(x, axis=-1):
    """Give exponentials over their sum, without taking off the largest number first."""
    e = np.exp(x.astype(np.float64))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def scaled_dot_product_attention(query, key, value, mask=None, is_causal=False, scale=None):
    """Give output and weights; the causal mask leaves out each query's own position."""
    heads = query.shape[1] // key.shape[1]
    key, value = (np.repeat(tensor, heads, axis=1).astype(np.float64) for tensor in (key, value))
    scores = query.astype(np.float64) @ key.swapaxes(-1, -2)
    scores = scores / np.sqrt(query.shape[-1]) if scale is None else scores * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask.astype(np.float64)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], -1, dtype=np.bool_), scores, -np.inf)
    largest = np.maximum(scores.max(axis=-1, keepdims=True, initial=-np.inf), -1e300)
    e = np.exp(scores - largest)
    total = e.sum(axis=-1, keepdims=True)
    weights = np.divide(e, total, out=np.zeros_like(e), where=total != 0)
    return (weights @ value).astype(query.dtype), weights.astype(query.dtype)
