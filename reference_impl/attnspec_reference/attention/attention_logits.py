"""From the inputs of attention to its logits: past, scales, positions, shared heads, cap, biases, excluded keys.

Queries and keys stand in one row of positions. Key j stands at position j, past keys included, and query i at
position i plus an offset. Part of scaled dot-product attention, whose page is
``spec/operations/attention/scaled_dot_product_attention.md``, in whose order the steps stand here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, Booleans, Integers, result_dtype, widen

Shape = tuple[int, ...]


def prepend_past(past: ArrayLike | None, new: ArrayLike) -> Array:
    """Put the past tokens before the new ones (B, Hkv, P + Sk, E); a copy of the new ones when there is no past."""
    return np.array(new) if past is None else np.concatenate([np.asarray(past), np.asarray(new)], axis=2)


def output_dtype_or_own(query: ArrayLike, output_dtype: str | None) -> np.dtype[Any]:
    """Name the dtype of the results: the one that is stated, or that of the query."""
    return result_dtype(query) if output_dtype is None else np.dtype(output_dtype)


def dequantize(numbers: ArrayLike, scale: ArrayLike | None, dtype: np.dtype[Any]) -> Array:
    """Multiply numbers (B, H, S, E) by their scales, in the dtype to compute in; without scales they are as given."""
    if scale is None:
        return np.asarray(numbers)
    return widen(numbers, dtype) * of_each_head(widen(scale, dtype), np.shape(numbers)[1])


def of_each_head(scale: Array, heads: int) -> Array:
    """Give each of the heads its scale: (), (Hkv,) and (B, Hkv) become (1 or B, heads, 1, 1)."""
    matched = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
    return repeat_heads(matched[:, :, np.newaxis, np.newaxis], heads)


def lengths_or_all(lengths: ArrayLike | None, tokens: int) -> Integers | int:
    """Give the number of tokens that count in each batch entry (B, 1, 1, 1): all of them when not stated."""
    return tokens if lengths is None else np.asarray(lengths).astype(np.int64).reshape(-1, 1, 1, 1)


def causal_offset(
    causal_alignment: str, query_lengths: Integers | int, key_lengths: Integers | int, past_length: int
) -> Integers | int:
    """Find the position of the first query, from which causality, the window and ALiBi count (B, 1, 1, 1)."""
    return past_length if causal_alignment == "top_left" else key_lengths - query_lengths


def distances_ahead(query_length: int, key_length: int, offset: Integers | int) -> Integers:
    """Find how far each key stands after each query (B, 1, Sq, Sk); negative where it stands before."""
    query_positions = np.arange(query_length)[:, np.newaxis] + offset
    return np.arange(key_length) - query_positions


def repeat_heads(shared: Array, heads: int) -> Array:
    """Give each query head its key or value head: (B, Hkv, Sk, E) becomes (B, Hq, Sk, E).

    Neighbouring query heads share: query head h reads head h // (Hq / Hkv).
    """
    group = heads // max(shared.shape[1], 1)
    return shared if group == 1 else np.repeat(shared, group, axis=1)


def cap_scores(scores: Array, softcap: float | None) -> Array:
    """Bend the scores so that none exceeds the cap; None and 0 leave them as they are."""
    if not softcap:
        return scores
    return softcap * np.tanh(scores / softcap)


def add_distance_bias(scores: Array, alibi_slopes: Array | None, offset: Integers | int) -> Array:
    """Lower each score by the distance between query and key, times the slope of the head."""
    if alibi_slopes is None:
        return scores
    query_length, key_length = scores.shape[2:]
    distances = np.abs(distances_ahead(query_length, key_length, offset)).astype(scores.dtype)
    return scores - alibi_slopes[:, np.newaxis, np.newaxis] * distances


def is_boolean(mask: ArrayLike) -> bool:
    """Distinguish a mask that selects from one that is added."""
    return np.asarray(mask).dtype == np.bool_


def add_mask(scores: Array, mask: ArrayLike | None) -> Array:
    """Add a float mask to the scores; a Boolean mask adds nothing."""
    if mask is None or is_boolean(mask):
        return scores
    return scores + np.asarray(mask).astype(scores.dtype)


def attendable_by_mask(mask: ArrayLike | None, shape: Shape) -> Booleans:
    """Mark where the mask lets a query attend to a key; broadcast from the right to (B, Hq, Sq, Sk)."""
    if mask is None:
        return np.ones(shape, dtype=np.bool_)
    mask = np.asarray(mask)
    return mask if is_boolean(mask) else mask != -np.inf


def within_window(window: Sequence[int | None], query_length: int, key_length: int, offset: Integers | int) -> Booleans:
    """Mark which keys stand no farther before and after a query than the window extends (B, 1, Sq, Sk)."""
    left, right = window
    ahead = distances_ahead(query_length, key_length, offset)
    attendable = np.ones(ahead.shape, dtype=np.bool_)
    if left is not None:
        attendable = attendable & (ahead >= -left)
    if right is not None:
        attendable = attendable & (ahead <= right)
    return attendable


def within_length(tokens: int, lengths: Integers | int) -> Booleans:
    """Mark which tokens lie before the end of their sequence (B, 1, 1, tokens)."""
    return np.arange(tokens)[np.newaxis] < lengths


def answered_queries(query_length: int, query_lengths: Integers | int) -> Booleans:
    """Mark which queries lie before the end of their sequence (B, 1, Sq, 1)."""
    return within_length(query_length, query_lengths).swapaxes(-1, -2)


def exclude_keys(logits: Array, attendable: Booleans) -> Array:
    """Set the logits of excluded keys to minus infinity, whatever they were."""
    return np.where(attendable, logits, -np.inf)
