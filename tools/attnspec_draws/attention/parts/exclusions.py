"""Exclusions of keys from the queries of a drawn case: masks, causality, windows and lengths."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.attention.parts.extents import Extents
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import Stream, Words, coarse, whole_numbers

_BELOW = -(2.0**14)
"""A finite number that hides a key in effect, and that every dtype holds with its logit."""

FORMS_OF_MASKS = ("nn", "11nn", "n1nn", "n11n", "nnn", "1nnn", "nn1n", "1n", "nnnn")
"""Axes that a mask may have, as a recipe gives them; the last form is whole."""

_BLOCK = (16, 64, 128)
"""Tiles of keys that a mask excludes whole."""

_NUMBERS = {"bias": 4, "bias_and_hidden": 5, "hidden": 2, "low": 2}
"""Contents of a mask of numbers, with weights."""

_BLOCKS = ((4, 8, 16, 32, 64, 128), (16, 32, 64, 128))
"""Queries and keys of the blocks that a mask excludes or leaves whole, others for each head and entry."""

_SEEN = {"half": 5, "most": 3, "few": 2, "tiles": 2, "blocks": 2, "first": 2, "last": 2}
"""Which keys a mask leaves, with weights."""

_SHARES = {"half": 50, "most": 90, "few": 8}
"""Of a hundred keys, how many a mask leaves."""

_BOUNDED = {"both": 5, "left": 4, "right": 2}
"""Which sides of a window are bounded, with weights."""

_SIDES = {"none": 2, "one": 2, "anywhere": 6, "near": 4}
"""How many keys a window leaves to one side, with weights: 0, 1, any number of them, or few."""

_MASKED, _AS_NUMBERS, _WHOLE, _WITH_DEAD_ROWS, _DEAD = 30, 45, 40, 15, 20
"""Of a hundred draws, masked; of these, numeric, of the scores' shape, with dead rows; of a hundred rows, dead."""

_WINDOWED, _LENGTHS_OF_NONE = 20, 10
"""Of a hundred draws, how many have a window; of a hundred arrays of lengths, in how many a length may be 0."""

_NEAR = 9
"""How many keys to one side are few, less one."""

_COINCIDING = 15
"""Of a hundred lengths of one kind, those that sum to the number of entries: packed, they look like one token each."""

_LENGTHS = {"": 82, "key_lengths": 9, "query_lengths": 2, "both": 7}
"""Which lengths are given, with weights."""


def draw_mask(words: Words, extents: Extents, limits: Limits, *, is_causal: bool) -> NDArray[Any] | None:
    """Draw a mask, or None for no mask."""
    stream = words.of("mask")
    if not limits.has("mask", drawn=stream.percent(_MASKED)):
        return None
    if is_causal and not limits.allow("mask_and_causal"):
        return None
    as_numbers = stream.percent(_AS_NUMBERS)
    if not limits.allow("float_mask" if as_numbers else "boolean_mask"):
        as_numbers = not as_numbers
        if not limits.allow("float_mask" if as_numbers else "boolean_mask"):
            return None
    shape = _mask_shape(stream, extents, limits)
    if shape is None:
        return None
    seen = _seen(stream, words, shape, limits)
    if not as_numbers:
        return seen
    kind = stream.weighted(_NUMBERS)
    numbers = np.zeros(shape) if kind in ("hidden", "low") else 2.0 * coarse(words.of("mask numbers"), shape)
    if kind == "bias":
        return numbers
    return np.where(seen, numbers, _BELOW if kind == "low" else -np.inf)


def excluding_nothing(mask: NDArray[Any]) -> NDArray[Any]:
    """Return a mask of the same shape and dtype that leaves every key to every query."""
    return np.full_like(mask, True if mask.dtype == np.bool_ else 0.0)


def forms_of_mask(shape: tuple[int, ...], extents: Extents) -> tuple[str, ...]:
    """Return the word for a mask of a shape: the first form that has it at these lengths; none for another shape."""
    return tuple(f"mask.{form}" for form in FORMS_OF_MASKS if _shape_of_form(form, extents) == shape)[:1]


def _shape_of_form(form: str, extents: Extents) -> tuple[int, ...]:
    last = extents.over_keys[-len(form) :]
    return tuple(1 if axis == "1" else length for axis, length in zip(form, last, strict=True))


def _mask_shape(stream: Stream, extents: Extents, limits: Limits) -> tuple[int, ...] | None:
    """Draw the shape of a mask; None where every form that has it, or could have it instead, is left out."""
    whole = extents.over_keys
    shapes = [_shape_of_form(form, extents) for form in FORMS_OF_MASKS[:-1]]
    chosen = stream.one_of(shapes)
    stated = limits.shape_of("mask", whole)
    if stated is not None:
        return stated
    found = whole if stream.percent(_WHOLE) or not limits.allow("broadcast_mask") else chosen
    if limits.allow(*forms_of_mask(found, extents)):
        return found
    others = shapes if limits.allow("broadcast_mask") else []
    return next((shape for shape in (*others, whole) if limits.allow(*forms_of_mask(shape, extents))), None)


def _seen(stream: Stream, words: Words, shape: tuple[int, ...], limits: Limits) -> NDArray[np.bool_]:
    """Draw which keys a mask leaves; rows without any key are rare, and may be left out."""
    drawn = whole_numbers(words.of("seen"), shape, 0, 99)
    kind = stream.weighted(_SEEN)
    index = np.arange(shape[-1])
    if kind == "tiles":
        tile = stream.one_of(_BLOCK)
        seen = np.broadcast_to(index // tile % 2 == stream.below(2), shape).copy()
    elif kind == "blocks":
        seen = _in_blocks(words, shape, tuple(map(stream.one_of, _BLOCKS)))
    elif kind in ("first", "last"):
        lengths = whole_numbers(words.of("first"), (*shape[:-1], 1), 1, max(shape[-1], 1))
        seen = index < lengths if kind == "first" else index >= shape[-1] - lengths
    else:
        seen = drawn < _SHARES[kind]
    if stream.percent(_WITH_DEAD_ROWS) and limits.allow("fully_masked_row"):
        seen &= whole_numbers(words.of("dead"), (*shape[:-1], 1), 0, 99) >= _DEAD
        return seen
    if kind == "last":
        return seen
    rows = np.arange(math.prod(shape[:-1])).reshape((*shape[:-1], 1))
    return seen | (index == (3 * rows + 1) % max(shape[-1], 1))


def _in_blocks(words: Words, shape: tuple[int, ...], block: tuple[int, ...]) -> NDArray[np.bool_]:
    """Draw which blocks of queries and keys a mask leaves."""
    *whole, rows, columns = shape
    counts = (-(-rows // block[0]), -(-columns // block[1]))
    left = whole_numbers(words.of("blocks"), (*whole, *counts), 0, 99) < _SHARES["half"]
    each_key = left.repeat(block[0], axis=-2).repeat(block[1], axis=-1)
    return each_key[..., :rows, :columns]


def draw_window(words: Words, extents: Extents, limits: Limits) -> list[int | None] | None:
    """Draw a window, or None for no window."""
    stream = words.of("window")
    if not stream.percent(_WINDOWED) or not limits.allow("window") or not extents.columns:
        return None
    kind = stream.weighted(_BOUNDED)
    left: int | None = _side(stream, extents.columns)
    right: int | None = _side(stream, extents.columns)
    if limits.allow("open_window"):
        left = None if kind == "right" else left
        right = None if kind == "left" else right
    return [left, right]


def _side(stream: Stream, columns: int) -> int:
    kind, anywhere, near = stream.weighted(_SIDES), stream.below(columns), stream.below(min(columns, _NEAR))
    return {"none": 0, "one": 1, "anywhere": anywhere, "near": near}[kind]


def draw_lengths(words: Words, extents: Extents, limits: Limits) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Draw how many keys and queries of each batch entry count; nothing for all of them.

    In large draws they do not coincide: of so many tokens hardly any would be left.
    """
    stream = words.of("lengths")
    given = stream.weighted(_LENGTHS)
    if extents.past:
        return
    for name, extent in (("key_lengths", extents.keys), ("query_lengths", extents.queries)):
        may_be_none = stream.percent(_LENGTHS_OF_NONE) and limits.allow("fully_masked_row")
        if limits.has(name, drawn=given in (name, "both")):
            least = 0 if may_be_none else min(1, extent)
            lengths = whole_numbers(words.of(name), (extents.batch,), least, extent)
            if _may_coincide(extents, extent, limits):
                lengths = _coinciding(words.of(f"{name} coincide"), lengths)
            yield name, lengths


def _may_coincide(extents: Extents, tokens: int, limits: Limits) -> bool:
    """Return whether lengths may come to as many tokens as there are entries, one of which then has none."""
    is_large = limits.rows and extents.largest > limits.elements
    return min(extents.batch, tokens) > 1 and not is_large and limits.allow("fully_masked_row")


def _coinciding(stream: Stream, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return lengths whose sum is the number of entries, though not all are one, or, for most draws, what was drawn."""
    if not stream.percent(_COINCIDING):
        return lengths
    entries, found = lengths.size, np.ones_like(lengths)
    more = stream.below(entries)
    found[more], found[(more + 1 + stream.below(entries - 1)) % entries] = 2, 0
    return found
