"""What takes keys from the queries of a drawn case: masks, causality, windows and lengths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.lattice import coarse, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec.families.attention.drawing.extents import Extents
    from attnspec.lattice import Limits, Stream, Words

_BELOW = -(2.0**14)
"""A finite number that hides a key in effect, and that every dtype holds with its logit."""

_BLOCK = (16, 64, 128)
"""Tiles of keys that a mask excludes whole."""


def draw_mask(words: Words, extents: Extents, limits: Limits, *, is_causal: bool) -> NDArray[Any] | None:
    """Draw a mask, or None for no mask."""
    stream = words.of("mask")
    if not stream.percent(30) or not limits.allow("mask"):
        return None
    if is_causal and not limits.allow("mask_and_causal"):
        return None
    as_numbers = stream.percent(45)
    if not limits.allow("float_mask" if as_numbers else "boolean_mask"):
        as_numbers = not as_numbers
        if not limits.allow("float_mask" if as_numbers else "boolean_mask"):
            return None
    shape = _mask_shape(stream, extents, limits)
    seen = _seen(stream, words, shape, limits)
    if not as_numbers:
        return seen
    kind = stream.weighted({"bias": 4, "bias_and_hidden": 5, "hidden": 2, "low": 2})
    numbers = np.zeros(shape) if kind in ("hidden", "low") else 2.0 * coarse(words.of("mask numbers"), shape)
    if kind == "bias":
        return numbers
    return np.where(seen, numbers, _BELOW if kind == "low" else -np.inf)


def _mask_shape(stream: Stream, extents: Extents, limits: Limits) -> tuple[int, ...]:
    whole = extents.over_keys
    batch, heads, queries, columns = whole
    shapes = [(queries, columns), (1, 1, queries, columns), (batch, 1, queries, columns), (batch, 1, 1, columns)]
    shapes += [(heads, queries, columns), (1, heads, queries, columns), (batch, heads, 1, columns), (1, columns)]
    chosen = stream.one_of(shapes)
    return whole if stream.percent(40) or not limits.allow("broadcast_mask") else chosen


def _seen(stream: Stream, words: Words, shape: tuple[int, ...], limits: Limits) -> NDArray[np.bool_]:
    """Draw which keys a mask leaves; rows without any key are rare, and may be left out."""
    drawn = whole_numbers(words.of("seen"), shape, 0, 99)
    kind = stream.weighted({"half": 5, "most": 3, "few": 2, "tiles": 2, "first": 2})
    place = np.arange(shape[-1])
    if kind == "tiles":
        tile = stream.one_of(_BLOCK)
        seen = np.broadcast_to(place // tile % 2 == stream.below(2), shape).copy()
    elif kind == "first":
        lengths = whole_numbers(words.of("first"), (*shape[:-1], 1), 1, max(shape[-1], 1))
        seen = place < lengths
    else:
        seen = drawn < {"half": 50, "most": 90, "few": 8}[kind]
    if stream.percent(15) and limits.allow("fully_masked_row"):
        seen &= whole_numbers(words.of("dead"), (*shape[:-1], 1), 0, 99) >= 20
        return seen
    rows = np.arange(math.prod(shape[:-1])).reshape((*shape[:-1], 1))
    return seen | (place == (3 * rows + 1) % max(shape[-1], 1))


def draw_window(words: Words, extents: Extents, limits: Limits) -> list[int | None] | None:
    """Draw a window, or None for no window."""
    stream = words.of("window")
    if not stream.percent(20) or not limits.allow("window") or not extents.columns:
        return None
    kind = stream.weighted({"both": 5, "left": 4, "right": 2})
    left: int | None = _side(stream, extents.columns)
    right: int | None = _side(stream, extents.columns)
    if limits.allow("open_window"):
        left = None if kind == "right" else left
        right = None if kind == "left" else right
    return [left, right]


def _side(stream: Stream, columns: int) -> int:
    return stream.weighted({0: 2, 1: 2, stream.below(columns): 6, stream.below(min(columns, 9)): 4})


def draw_lengths(words: Words, extents: Extents, limits: Limits) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Draw how many keys and queries of each batch entry count; nothing for all of them."""
    stream = words.of("lengths")
    given = stream.weighted({"": 82, "key_lengths": 9, "query_lengths": 2, "both": 7})
    if extents.past or not given:
        return
    for name, extent in (("key_lengths", extents.keys), ("query_lengths", extents.queries)):
        if given in (name, "both") and limits.allow(name):
            least = 0 if stream.percent(10) and limits.allow("fully_masked_row") else min(1, extent)
            yield name, whole_numbers(words.of(name), (extents.batch,), least, extent)
