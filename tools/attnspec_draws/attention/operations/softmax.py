"""Case generators of softmax, and of the context vector that it weighs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import MEMORY_ORDER, laid_out
from attnspec_draws.generators.special_numbers import ALIKE, make_alike
from attnspec_draws.generators.words import Stream, Words, coarse, coarse_or_wide, weights, whole_numbers

_RANKS = {1: 2, 2: 5, 3: 3, 4: 2}
_AXES = {"default": 4, "last": 1, "from_front": 4, "from_end": 3, "whole": 2}
"""How the axis is said, with weights."""

NUMBERS = weights("softmax")
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
    x = coarse_or_wide(words.varied("x"), shape, limits.dtype, is_wide=chosen == "full_width")
    _of_class(_in_rows(x, axis), chosen, limits.dtype)
    enlarged = _enlarge(words, x, axis, limits)
    hides = _hide(words, x, axis, limits)
    clause = "default" if not axis else "whole" if axis["axis"] is None else "explicit"
    features = {
        chosen: chosen != "plain" and not enlarged,
        "axis": bool(axis),
        NEARLY_LARGEST: enlarged,
        MINUS_INFINITY: hides,
    }
    clauses = {"definition": True, f"axis.{clause}": True, "stability": chosen in ("large", "shifted") or enlarged}
    return laid_out(
        words,
        limits,
        "softmax",
        {"x": x},
        features=those(features),
        clauses=those(clauses),
        attributes=axis,
        extents=extents,
    )


def _extents(stream: Stream, limits: Limits) -> dict[str, int]:
    drawn = stream.weighted(_RANKS)
    stated = [number for number in range(max(_RANKS)) if f"axis_{number}" in limits.extents]
    names = [f"axis_{number}" for number in range(stated[-1] + 1 if stated else drawn)]
    return as_stated(draw_axes(stream, names, dict.fromkeys(names, 1), limits), limits)


def _axis(stream: Stream, rank: int, limits: Limits) -> dict[str, int | None]:
    said, index = stream.weighted(_AXES), stream.below(rank)
    if said == "default" or not limits.allow("axis"):
        return {}
    return {"axis": {"last": -1, "from_front": index, "from_end": index - rank, "whole": None}[said]}


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
        positions: NDArray[np.int64] = np.arange(count, dtype=np.int64)
        rows[...] = rounded_to(rows + positions * min(_STEPS, count) // count * _STEP, dtype)
    elif chosen == "tied":
        rows[...] = rows[..., np.arange(count) % min(_TIED, count)]
    elif chosen == "equal":
        rows[...] = rows[..., :1].copy()


_OF_CONTEXT = ("tokens", "width")
_LONG_OF_CONTEXT = {"tokens": 3, "width": 2}
"""Which axes of the context vector are long, with weights."""

_ALIKE = 15
"""Of a hundred draws, how many have as many tokens as features: weights then fit along either."""

_NUMBERS_OF_CONTEXT = {"coarse": 6, "full_width": 3, "large": 1}
_SHARPNESS_OF_STATE = {1: 2, 2: 3, 4: 2, 8: 1}
"""Classes of numbers, and factors of the decoder's state, with weights."""

_SCALED = 40
_SCALES = (1.0, 0.5, 0.25, 0.1, 2.0, -0.5)
"""Of a hundred draws, how many state a scale, and which."""

_FACTOR, _ITS_SCALE = 2.0**8, 2.0**-16
"""Factor of large states, so that products of them exceed float16; and their scale."""

CONTEXT_WORDS = frozenset(("full_width", "large", ALIKE, "negative_scale", MEMORY_ORDER))


def draw_context(words: Words, limits: Limits) -> Drawn:
    """Draw a case of the context vector."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _OF_CONTEXT, _LONG_OF_CONTEXT, limits)
    square = stream.percent(_ALIKE) and limits.extents.keys().isdisjoint(_OF_CONTEXT)
    if square:
        lengths = dict.fromkeys(lengths, min(lengths.values()))
    extents = as_stated(lengths, limits)
    if square:
        extents = dict.fromkeys(extents, min(extents.values()))
    tokens, width = (extents[axis] for axis in _OF_CONTEXT)
    stream = words.of("numbers")
    kind, sharpness = stream.weighted(_NUMBERS_OF_CONTEXT), stream.weighted(_SHARPNESS_OF_STATE)
    kind = kind if limits.allow(kind) and (kind != "large" or limits.allow("scale")) else "coarse"
    inputs = {
        name: coarse_or_wide(words.varied(name), shape, limits.dtype, is_wide=kind == "full_width")
        for name, shape in (("encoder_states", (tokens, width)), ("decoder_state", (width,)))
    }
    inputs["decoder_state"] *= sharpness
    alike = make_alike(words, inputs, ("encoder_states", "decoder_state"), limits)
    stream = words.of("scale")
    stated, scale = stream.percent(_SCALED), stream.one_of(_SCALES)
    scale = abs(scale) if not limits.allow("negative_scale") else scale
    attributes = {"scale": scale} if stated and limits.allow("scale") else {}
    if kind == "large":
        inputs = {name: array * _FACTOR for name, array in inputs.items()}
        attributes = {"scale": _ITS_SCALE}
    negative = ("negative_scale",) if attributes.get("scale", 0.0) < 0 else ()
    return laid_out(
        words,
        limits,
        "context_vector",
        inputs,
        features=those({kind: kind != "coarse", "scale": bool(attributes)}),
        behind=(*negative, *alike),
        clauses=("raw_scores", f"scale.{'explicit' if attributes else 'default'}", "softmax", "context"),
        attributes=attributes,
        extents=extents,
    )
