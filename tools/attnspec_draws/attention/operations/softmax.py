"""Drawn cases of softmax: arrays of one to four axes, numbers of all sizes, some of them minus infinity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.generators import (
    Drawn,
    as_stated,
    coarse,
    draw_memory_order,
    full_width,
    lengthened,
    whole_numbers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_draws.generators import Limits, Stream, Words

_SHORT = 6
_RANKS = {1: 2, 2: 5, 3: 3, 4: 2}
_AXES = {"default": 4, "last": 1, "from_front": 4, "from_end": 3, "whole": 2}
"""How the axis is said, with weights."""

NUMBERS = {
    "plain": 30,
    "full_width": 15,
    "peaked": 10,
    "far": 8,
    "large": 10,
    "shifted": 10,
    "rising": 10,
    "tied": 8,
    "equal": 7,
}
"""Classes of numbers, with weights."""

MINUS_INFINITY = "minus_infinity"
_WITH_MINUS_INFINITY, _HIDDEN = 20, 40
"""Of a hundred draws, how many have numbers that are minus infinity; of a hundred numbers, how many are, then."""

_HIDING = {"scattered": 5, "leading": 4, "trailing": 1}
"""Which numbers are minus infinity, with weights: any, those before an index, or those from one on."""

_SHARPNESS, _FAR = 16.0, 128.0
"""Factors of peaked numbers, and of those whose exponentials overflow in float32, and hardly in float64."""

_LARGE = {"float16": 2.0**13, "bfloat16": 2.0**120, "float32": 2.0**120, "float64": 2.0**1000}
"""Factor of numbers whose exponentials overflow everywhere."""

_SHIFTS = {"float16": 16.0, "bfloat16": 16.0, "float32": 1024.0, "float64": 1024.0}
"""Summand of all numbers: no exponential of it is finite, and half precision keeps some digits beside it."""

NEARLY_LARGEST = "nearly_largest"
_NEARLY_LARGEST = 8
_SIGNS = {"above": 2, "below": 2, "both": 1}
_LARGEST = {"float16": 2.0**15, "bfloat16": 2.0**127, "float32": 2.0**127, "float64": 2.0**1023}
"""Of a hundred draws, those of numbers above half of the dtype's largest; side of 0; largest power of two."""

_STEP, _STEPS = 0.25, 200
_TIED = 3


def draw_softmax(words: Words, limits: Limits) -> Drawn:
    """Draw a case of softmax."""
    extents = _extents(words.of("extents"), limits)
    shape = tuple(extents.values())
    axis = _axis(words.of("axis"), len(shape), limits)
    chosen = words.of("numbers").weighted(NUMBERS)
    chosen = chosen if limits.allow(chosen) else "plain"
    wide = chosen == "full_width"
    stream = words.varied("x")
    x = full_width(stream, shape, limits.dtype) if wide else coarse(stream, shape)
    _of_class(_in_rows(x, axis), chosen, limits.dtype)
    enlarged = _enlarge(words, x, axis, limits)
    hides = _hide(words, x, axis, limits)
    inputs = {"x": x}
    memory_order = draw_memory_order(words, inputs, limits)
    clause = "default" if not axis else "whole" if axis["axis"] is None else "explicit"
    features = {
        chosen: chosen != "plain" and not enlarged,
        "axis": bool(axis),
        NEARLY_LARGEST: enlarged,
        MINUS_INFINITY: hides,
    }
    features["presentation"] = bool(memory_order)
    clauses = {"definition": True, f"axis.{clause}": True, "stability": chosen in ("large", "shifted") or enlarged}
    clauses["memory_layout"] = bool(memory_order)
    return Drawn(
        inputs=inputs,
        attributes=axis,
        features=tuple(name for name, holds in features.items() if holds),
        extents=extents,
        clauses=tuple(f"softmax.{name}" for name, holds in clauses.items() if holds),
        memory_order=memory_order,
    )


def _extents(stream: Stream, limits: Limits) -> dict[str, int]:
    drawn = stream.weighted(_RANKS)
    stated = [number for number in range(max(_RANKS)) if f"axis_{number}" in limits.extents]
    names = [f"axis_{number}" for number in range(stated[-1] + 1 if stated else drawn)]
    lengths = {name: stream.between(1, _SHORT) for name in names}
    lengths = lengthened(stream, lengths, dict.fromkeys(names, 1), limits)
    return as_stated(lengths, limits, lambda found: math.prod(found.values()))


def _axis(stream: Stream, rank: int, limits: Limits) -> dict[str, int | None]:
    said, place = stream.weighted(_AXES), stream.below(rank)
    if said == "default" or not limits.allow("axis"):
        return {}
    return {"axis": {"last": -1, "from_front": place, "from_end": place - rank, "whole": None}[said]}


def _enlarge(words: Words, x: NDArray[np.float64], axis: dict[str, int | None], limits: Limits) -> bool:
    """Let all numbers be nearly the largest of the dtype, on either side of 0, or do nothing; return which."""
    stream = words.of("nearly largest")
    enlarges, signs = stream.percent(_NEARLY_LARGEST), stream.weighted(_SIGNS)
    if not enlarges or not limits.allow(NEARLY_LARGEST):
        return False
    # Eight digits, as bfloat16 has.
    x[...] = (1.5 + coarse(words.varied("x"), x.shape) / 4) * _LARGEST[limits.dtype]
    rows = _in_rows(x, axis)
    if signs == "below":
        rows *= -1
    elif signs == "both":
        rows[..., 1::2] *= -1
    return True


def _hide(words: Words, x: NDArray[np.float64], axis: dict[str, int | None], limits: Limits) -> bool:
    """Make some numbers minus infinity; return whether there are any; one of each sum stays, for the page asks it."""
    stream = words.of("hidden")
    if not stream.percent(_WITH_MINUS_INFINITY) or not limits.allow(MINUS_INFINITY):
        return False
    hidden = whole_numbers(words.of("hidden numbers"), x.shape, 0, 99) < _HIDDEN
    rows = _in_rows(hidden, axis)
    kind, border = stream.weighted(_HIDING), stream.below(rows.shape[-1])
    if kind != "scattered":
        rows[..., :border], rows[..., border:] = kind == "leading", kind == "trailing"
    rows[..., border] = False
    x[hidden] = -np.inf
    return bool(hidden.any())


def _in_rows(array: NDArray[Any], axis: dict[str, int | None]) -> NDArray[Any]:
    """Return an array as rows of the numbers that one sum runs over, in the same memory."""
    stated = axis.get("axis", -1)
    return array.reshape(1, -1) if stated is None else np.moveaxis(array, stated, -1)


def _of_class(rows: NDArray[np.float64], chosen: str, dtype: str) -> None:
    count = rows.shape[-1]
    if chosen == "peaked":
        rows *= _SHARPNESS
    elif chosen == "far":
        rows *= _FAR
    elif chosen == "large":
        rows *= _LARGE[dtype]
    elif chosen == "shifted":
        rows[...] = rounded_to(rows + _SHIFTS[dtype], dtype)
    elif chosen == "rising":
        places: NDArray[np.int64] = np.arange(count, dtype=np.int64)
        rows[...] = rounded_to(rows + places * min(_STEPS, count) // count * _STEP, dtype)
    elif chosen == "tied":
        rows[...] = rows[..., np.arange(count) % min(_TIED, count)]
    elif chosen == "equal":
        rows[...] = rows[..., :1].copy()
