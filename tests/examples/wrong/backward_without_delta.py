"""The backward pass of attention without delta: nothing is subtracted from the gradients of the weights."""

import numpy as np

name = "backward, no delta"
dtypes = ("float64",)


def scaled_dot_product_attention_backward(grad_output, query, key, value, *, is_causal=False, scale=None):
    if query.shape[1] != key.shape[1]:
        return {"grad_query": query, "grad_key": np.zeros_like(query), "grad_value": np.zeros_like(value)}
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.swapaxes(-1, -2) * factor
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e30))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad_output @ value.swapaxes(-1, -2))
    return {
        "grad_query": grad_scores @ key * factor,
        "grad_key": grad_scores.swapaxes(-1, -2) @ query * factor,
        "grad_value": weights.swapaxes(-1, -2) @ grad_output,
    }
