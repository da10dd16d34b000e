"""Special numbers of drawn inputs: all alike, too large or too small for float16, one of them not finite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.memory import ONE_ARRAY, ONE_PART
from attnspec_draws.generators.words import Words

ALIKE = "alike"

_ALIKE = 8
"""Of a hundred inputs, how many are made so: shortcuts are written for what is, and forget what is beside it."""

_NUMBERS = {"neutral": 3, "first": 1}
"""Value of all its numbers, with weights."""


def make_alike(
    words: Words,
    inputs: dict[str, NDArray[Any]],
    names: Sequence[str],
    limits: Limits,
    whole: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Make all numbers of some inputs `names` alike, and return the feature's word; for most draws nothing.

    `whole` has, for lengths, how many there are of what they count.
    """
    done = False
    for name in names:
        stream = words.of(f"alike {name}")
        alike, kind = stream.percent(_ALIKE), stream.weighted(_NUMBERS)
        if not alike or name not in inputs or not limits.allow(ALIKE):
            continue
        array = inputs[name]
        neutral = array.dtype == np.bool_ or (whole or {}).get(name, 0)
        takes_first = kind == "first" and array.dtype != np.bool_ and array.size and np.isfinite(array.flat[0])
        inputs[name] = np.full_like(array, array.flat[0] if takes_first else neutral)
        done = True
    return (ALIKE,) if done else ()


BEYOND_FLOAT16 = "beyond_float16"
"""The word for a case of which some inputs are so large or so small."""

_BEYOND_FLOAT16 = 5
"""Of a hundred draws, how many are."""

_FACTORS = (2.0**20, 2.0**-30)
"""A sixteenth of the first is the largest number of float16; the second is a sixty-fourth of its smallest."""


@dataclass(frozen=True)
class Resized:
    """Inputs multiplied by one factor, and those divided by it, so that scores stay as they are.

    Multiplied inputs may be absent from a case; divided ones must all be there.
    """

    multiplied: tuple[str, ...]
    divided: tuple[str, ...] = ()


def beyond_float16(words: Words, drawn: Drawn, choices: Sequence[Resized], limits: Limits) -> Drawn:
    """Resize inputs beyond float16 by one of `choices`, or, for most draws, return what was drawn.

    Powers of two change no digit: the expected result is multiplied, or stays as it is.
    """
    stream = words.of(BEYOND_FLOAT16)
    if not choices or not stream.percent(_BEYOND_FLOAT16) or not limits.allow(BEYOND_FLOAT16):
        return drawn
    factor, choice = stream.one_of(_FACTORS), stream.one_of(choices)
    names = [name for name in (*choice.multiplied, *choice.divided) if name in drawn.inputs]
    has_another_dtype = any(drawn.inputs[name].dtype != np.float64 for name in names)
    lies_together = not {ONE_ARRAY, ONE_PART}.isdisjoint(drawn.features)
    lacks = not {*choice.divided} <= drawn.inputs.keys()
    if limits.dtype == "float16" or drawn.sample or has_another_dtype or lies_together or lacks:
        return drawn
    resized = {name: drawn.inputs[name] * (1 / factor if name in choice.divided else factor) for name in names}
    return replace(drawn, inputs={**drawn.inputs, **resized}, features=(*drawn.features, BEYOND_FLOAT16))


NOT_FINITE = (np.nan, np.inf, -np.inf)
"""Numbers that are not finite, each as likely."""


def spoil_one(words: Words, array: NDArray[Any]) -> None:
    """Put NaN, infinity or minus infinity at one index of an array that is not empty."""
    stream = words.of("spoilt feature")
    number = stream.one_of(NOT_FINITE)
    array.reshape(-1)[stream.below(array.size)] = number
