"""Attention whose causal mask lets every query see one key too many: what `make bench` waits to hear of."""

from __future__ import annotations

from typing import Any

import numpy as np

dtypes = ("float64",)
conventions = {"input_checks": "lenient", "fully_masked_row": "nan", "masked_nonfinite": "propagates"}
without = ("float_mask", "grouped_query")


def scaled_dot_product_attention(query: Any, key: Any, value: Any, mask: Any = None, *, is_causal: bool = False) -> Any:
    """Attend as a textbook does, but for the diagonal."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if is_causal:
        scores = np.where(np.tri(scores.shape[-2], scores.shape[-1], 1, dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    with np.errstate(all="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        return weights / weights.sum(axis=-1, keepdims=True) @ value
