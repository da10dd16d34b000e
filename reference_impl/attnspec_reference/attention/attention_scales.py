"""Quantized queries, keys and values of attention: numbers of few bits, each of which counts times a scale.

Part of scaled dot-product attention, whose page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.attention.attention_logits import repeat_heads
from attnspec_reference.precision import result_dtype, widen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array


def output_dtype_or_own(query: ArrayLike, output_dtype: str | None) -> np.dtype[Any]:
    """Name the dtype of the results: the one that is stated, or that of the query."""
    return result_dtype(query) if output_dtype is None else np.dtype(output_dtype)


def of_each_head(scale: Array, heads: int) -> Array:
    """Give each of the heads its scale: (), (Hkv,) and (B, Hkv) become (1 or B, heads, 1, 1)."""
    matched = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
    return repeat_heads(matched[:, :, np.newaxis, np.newaxis], heads)


def dequantize(numbers: ArrayLike, scale: ArrayLike | None, dtype: np.dtype[Any]) -> Array:
    """Multiply numbers (B, H, S, E) by their scales, in the dtype to compute in; without scales they are as given."""
    if scale is None:
        return np.asarray(numbers)
    return widen(numbers, dtype) * of_each_head(widen(scale, dtype), np.shape(numbers)[1])
