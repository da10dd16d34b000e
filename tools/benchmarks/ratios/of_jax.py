"""Attention in plain ``jax.numpy``, in four dtypes, as a user of JAX writes it down first."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

tensors = "jax"
dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"input_checks": "lenient", "fully_masked_row": "nan", "masked_nonfinite": "propagates"}
without = ("float_mask", "grouped_query")


def scaled_dot_product_attention(query: Any, key: Any, value: Any, mask: Any = None, scale: float | None = None) -> Any:
    """Attend with two einsums and a softmax."""
    scale = 1 / query.shape[-1] ** 0.5 if scale is None else scale
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * scale
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    weights = jnp.exp(scores - scores.max(axis=-1, keepdims=True, initial=-jnp.inf))
    return jnp.einsum("bhqk,bhkd->bhqd", weights / weights.sum(axis=-1, keepdims=True), value)
