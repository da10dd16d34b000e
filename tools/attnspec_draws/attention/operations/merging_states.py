"""Case generator of merging states: two parts of all kinds of weight, some of them empty."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.attention.parts.spoiling import ATTENDED
from attnspec_draws.attention.parts.tokens import HEAVY, make_heavy
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.memory import laid_out
from attnspec_draws.generators.words import Words, coarse, coarse_or_wide, whole_numbers

_AXES = ("batch", "heads", "queries", "width")
_EMPTY_AXES = {"batch": "empty_batch", "heads": "empty_heads", "queries": "empty_queries"}
"""Axes to the feature of which they are an example where their length is 0."""

_CLAUSES = ("rows", "weights", "average", "logsumexp", "stability", "shape")
_APART = (0.0, 1.0, 8.0, 64.0, 512.0)
"""How far logarithms of the parts lie from the shift: at most about twice as much."""

_SHIFTS = (0.0, 0.0, 16.0, -256.0)
_CLOSER = {"float16": 16.0, "bfloat16": 16.0}
"""Divisor of shifts and factors in half precision, where logarithms in the hundreds have no digits left for weights."""

_HOLDING = (0.0, 1024.0, np.nan, np.inf)
"""Content of the output of a part that has no keys."""

_FULL_WIDTH, _WITH_EMPTY_PARTS, _EMPTY, _EMPTY_QUERIES = 30, 30, 30, 2
"""Of a hundred draws: full width, empty parts, no queries; of a hundred rows of a part: how many are empty then."""

_SPOILT = 6
"""Of a hundred draws, in how many one number of a part that has keys is NaN."""

_OPPOSITE = 50
"""Of a hundred draws of heavy outputs, those whose second part is below 0: float16 cannot hold the difference."""

NEARLY_LARGEST = "nearly_largest"
_NEARLY_LARGEST = 6
_SIGNS = {"above": 2, "below": 2, "both": 1}
_LARGEST = {"float16": 2.0**15, "float32": 2.0**127, "bfloat16": 2.0**127, "float64": 2.0**1020}
"""Of a hundred draws, in how many all logarithms are nearly the largest numbers; on which side of 0, with weights;
and the powers of two below these. To the base 2 they are larger, and still numbers, and so is their rounding."""

_LONG = {"queries": 5, "width": 4, "heads": 1}
"""Which axes are long, with weights."""


def draw_merging(words: Words, limits: Limits) -> Drawn:
    """Draw a case of two parts."""
    stream = words.of("extents")
    lengths = draw_axes(stream, _AXES, _LONG, limits)
    if stream.percent(_EMPTY_QUERIES) and limits.allow("empty_queries"):
        lengths["queries"] = 0
    extents = as_stated(lengths, limits)
    shape = tuple(extents[axis] for axis in _AXES)
    stream = words.of("parts")
    wide = stream.percent(_FULL_WIDTH) and limits.allow("full_width")
    closer = _CLOSER.get(limits.dtype, 1.0)
    apart, shift = stream.one_of(_APART) / closer, stream.one_of(_SHIFTS) / closer
    empty = stream.percent(_WITH_EMPTY_PARTS)
    holding = stream.one_of(_HOLDING)
    inputs: dict[str, NDArray[np.float64]] = {}
    for side in "ab":
        own = words.varied(side)
        inputs[f"output_{side}"] = coarse_or_wide(own, shape, limits.dtype, is_wide=wide)
        inputs[f"logsumexp_{side}"] = rounded_to(coarse(own, shape[:3]) * max(apart, 1.0) + shift, limits.dtype)
    enlarged = _enlarge(words, inputs, limits)
    heavy = make_heavy(words, inputs, ("output_a", "output_b"), limits)
    if heavy and words.of("opposite").percent(_OPPOSITE):
        inputs["output_b"] = -inputs["output_b"]
    none = {side: np.zeros(shape[:3], np.bool_) for side in "ab"}
    if empty and limits.allow("empty_parts"):
        none = {side: whole_numbers(words.of(f"empty {side}"), shape[:3], 0, 99) < _EMPTY for side in "ab"}
    one, both = bool((none["a"] != none["b"]).any()), bool((none["a"] & none["b"]).any())
    spoilt = (one or both) and not np.isfinite(holding) and limits.allow("excluded_nonfinite")
    for side in "ab":
        inputs[f"logsumexp_{side}"][none[side]] = -np.inf
        inputs[f"output_{side}"][none[side]] = holding if spoilt or np.isfinite(holding) else 0.0
    attended = _spoil(words, inputs, none, limits)
    features = {
        "full_width": wide,
        NEARLY_LARGEST: enlarged,
        HEAVY: bool(heavy),
        ATTENDED: attended,
        "empty_parts": one or both,
        "excluded_nonfinite": spoilt,
        **{name: not extents[axis] for axis, name in _EMPTY_AXES.items()},
    }
    conventions = {
        "empty_logsumexp": one or both,
        "logsumexp_base": True,
        "masked_nonfinite": spoilt,
        "nonfinite_input": attended,
    }
    clauses = {"empty.one": one, "empty.ignored": one, "empty.both": both, "nonfinite": attended}
    return laid_out(
        words,
        limits,
        "merge",
        {name: inputs[name] for name in ("output_a", "logsumexp_a", "output_b", "logsumexp_b")},
        features=those(features),
        clauses=(*_CLAUSES, *those(clauses)),
        attributes={},
        extents=extents,
        conventions=those(conventions),
    )


def _enlarge(words: Words, inputs: dict[str, NDArray[np.float64]], limits: Limits) -> bool:
    """Let all logarithms be nearly the largest of the dtype, on either side of 0, or do nothing; return which."""
    stream = words.of("nearly largest")
    enlarges, signs = stream.percent(_NEARLY_LARGEST), stream.weighted(_SIGNS)
    if not enlarges or not limits.allow(NEARLY_LARGEST):
        return False
    for side in "ab":
        shape = inputs[f"logsumexp_{side}"].shape
        spread = rounded_to(1.125 + coarse(words.varied(f"nearly largest {side}"), shape) / 16, limits.dtype)
        numbers = spread * _LARGEST[limits.dtype]
        is_below = signs == "below" or (signs == "both" and side == "b")
        inputs[f"logsumexp_{side}"] = -numbers if is_below else numbers
    return True


def _spoil(
    words: Words,
    inputs: dict[str, NDArray[np.float64]],
    none: Mapping[str, NDArray[np.bool_]],
    limits: Limits,
) -> bool:
    """Put NaN into one number of a row of a part that has keys there; for most draws nothing; return which."""
    stream = words.of("spoilt")
    spoils, name = stream.percent(_SPOILT), stream.one_of(tuple(inputs))
    # Of a logarithm that is NaN beside a part without keys, nothing is said.
    unused = none[name[-1]] if name.startswith("output") else none["a"] | none["b"]
    rows, width = np.flatnonzero(~unused), inputs["output_a"].shape[-1]
    if not spoils or not rows.size or not width or not limits.allow(ATTENDED):
        return False
    row, feature = rows[stream.below(rows.size)], stream.below(width)
    if name.startswith("output"):
        inputs[name].reshape(-1, width)[row, feature] = np.nan
    else:
        inputs[name].flat[row] = np.nan
    return True
