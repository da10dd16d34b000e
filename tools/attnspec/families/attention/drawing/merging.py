"""Drawn cases of merging states: two parts of all kinds of weight, some of them empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.dtypes import rounded_to
from attnspec.families.attention.drawing.presenting import draw_presentation
from attnspec.lattice import Drawn, coarse, full_width, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.lattice import Limits, Stream, Words

_SHORT = 6
_AXES = ("batch", "heads", "queries", "width")
_CLAUSES = ("rows", "weights", "average", "logsumexp", "stability", "shape")
_APART = (0.0, 1.0, 8.0, 64.0, 512.0)
"""How far the logarithms of the parts lie from each other, at most about twice as much."""


def draw_merging(words: Words, limits: Limits) -> Drawn:
    """Draw a case of two parts.

    Parameters
    ----------
    words
        The streams of the draw.
    limits
        What it keeps to.
    """
    extents = _extents(words.of("extents"), limits)
    shape = tuple(extents[axis] for axis in _AXES)
    stream = words.of("parts")
    wide = stream.percent(30) and limits.allow("full_width")
    apart, shift, empty = stream.one_of(_APART), stream.one_of((0.0, 0.0, 16.0, -256.0)), stream.percent(30)
    holding = stream.one_of((0.0, 1024.0, np.nan, np.inf))
    inputs: dict[str, NDArray[np.float64]] = {}
    for side in "ab":
        own = words.varied(side)
        inputs[f"output_{side}"] = full_width(own, shape, limits.dtype) if wide else coarse(own, shape)
        inputs[f"logsumexp_{side}"] = rounded_to(coarse(own, shape[:3]) * max(apart, 1.0) + shift, limits.dtype)
    features = ["full_width"] if wide else []
    spoilt = False
    if empty and limits.allow("empty_parts"):
        features.append("empty_parts")
        spoilt = not np.isfinite(holding) and limits.allow("excluded_nonfinite")
        for side in "ab":
            none = whole_numbers(words.of(f"empty {side}"), shape[:3], 0, 99) < 30
            inputs[f"logsumexp_{side}"][none] = -np.inf
            inputs[f"output_{side}"][none] = holding if spoilt or np.isfinite(holding) else 0.0
    features += ["excluded_nonfinite"] if spoilt else []
    presentation = draw_presentation(words, inputs, limits)
    conventions = {"empty_logsumexp": "empty_parts" in features, "logsumexp_base": True, "masked_nonfinite": spoilt}
    clauses = [*_CLAUSES, *(("empty.one", "empty.ignored", "empty.both") if "empty_parts" in features else ())]
    return Drawn(
        inputs={name: inputs[name] for name in ("output_a", "logsumexp_a", "output_b", "logsumexp_b")},
        attributes={},
        features=(*features, *(("presentation",) if presentation else ())),
        extents=extents,
        clauses=tuple(f"merge.{clause}" for clause in (*clauses, *(("memory_layout",) if presentation else ()))),
        conventions=tuple(name for name, holds in conventions.items() if holds),
        presentation=presentation,
    )


def _extents(stream: Stream, limits: Limits) -> dict[str, int]:
    lengths = {axis: stream.between(1, _SHORT) for axis in _AXES}
    for _ in range(stream.weighted({0: 1, 1: 4, 2: 1})):
        lengths[stream.weighted({"queries": 5, "width": 4, "heads": 1})] = stream.of_any_size(1, limits.longest)
    if stream.percent(2) and limits.allow("empty_queries"):
        lengths["queries"] = 0
    lengths |= {axis: length for axis, length in limits.extents.items() if axis in lengths}
    while np.prod(list(lengths.values())) > limits.elements:
        free = {axis: length for axis, length in lengths.items() if axis not in limits.extents and length > 1}
        if not free:
            break
        longest = max(free, key=lambda axis: free[axis])
        lengths[longest] //= 2
    return lengths
