"""Drawn cases of splitting and combining heads, which move numbers and change none, NaN and infinity included."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnspec_draws.generators import (
    Drawn,
    as_stated,
    coarse,
    draw_memory_order,
    full_width,
    lengthened,
    spoil_one,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_draws.generators import Limits, Words

_SHORT = 6
_AXES = ("batch", "heads", "tokens", "width")
_LONG = {"tokens": 5, "width": 4, "heads": 4, "batch": 1}
"""Which axes are long, with weights."""

_NUMBERS = {"coarse": 1, "full_width": 3}
NONFINITE = "nonfinite"
_SPOILT = 20
"""Of a hundred draws, how many hold a number that is not finite."""

HEADS_WORDS = frozenset(("full_width", NONFINITE, "presentation"))


def draw_split(words: Words, limits: Limits) -> Drawn:
    """Draw a case of splitting tokens into heads."""
    extents = _extents(words, limits)
    batch, heads, tokens, width = (extents[axis] for axis in _AXES)
    return _drawn(words, limits, "split_heads", (batch, tokens, heads * width), {"num_heads": heads}, extents)


def draw_combined(words: Words, limits: Limits) -> Drawn:
    """Draw a case of combining heads into tokens."""
    extents = _extents(words, limits)
    return _drawn(words, limits, "combine_heads", tuple(extents[axis] for axis in _AXES), {}, extents)


def _extents(words: Words, limits: Limits) -> dict[str, int]:
    stream = words.of("extents")
    lengths = lengthened(stream, {axis: stream.between(1, _SHORT) for axis in _AXES}, _LONG, limits)
    return as_stated(lengths, limits, lambda found: math.prod(found.values()))


def _drawn(
    words: Words,
    limits: Limits,
    operation: str,
    shape: tuple[int, ...],
    attributes: Mapping[str, Any],
    extents: Mapping[str, int],
) -> Drawn:
    kind = words.of("numbers").weighted(_NUMBERS)
    kind = kind if limits.allow(kind) else "coarse"
    stream = words.varied("x")
    x = full_width(stream, shape, limits.dtype) if kind == "full_width" else coarse(stream, shape)
    spoilt = words.of("spoilt").percent(_SPOILT) and limits.allow(NONFINITE)
    if spoilt:
        spoil_one(words, x)
    inputs = {"x": x}
    memory_order = draw_memory_order(words, inputs, limits)
    features = {"full_width": kind == "full_width", NONFINITE: spoilt, "presentation": bool(memory_order)}
    return Drawn(
        inputs=inputs,
        attributes=attributes,
        features=tuple(name for name, holds in features.items() if holds),
        extents=extents,
        clauses=tuple(
            f"{operation}.{name}" for name in ("order", "shape", *(("memory_layout",) if memory_order else ()))
        ),
        conventions=("nonfinite_input",) if spoilt else (),
        memory_order=memory_order,
    )
