"""Numbers that float16 does not hold, too large or too small, in a case of another dtype."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from attnspec_draws.generators.memory import ONE_ARRAY, ONE_PART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Words

BEYOND_FLOAT16 = "beyond_float16"
"""The word for a case of which some inputs are so large or so small."""

_BEYOND_FLOAT16 = 5
"""Of a hundred draws, how many are."""

_FACTORS = (2.0**20, 2.0**-30)
"""A sixteenth of the first is the largest number of float16; the second is a sixty-fourth of its smallest."""


@dataclass(frozen=True)
class Resized:
    """Inputs that are multiplied by one factor, and those that are divided by it, so that scores stay as they are.

    Attributes
    ----------
    multiplied
        Inputs that are, as far as the case has them.
    divided
        Inputs that make up for these, all of which the case must have.
    """

    multiplied: tuple[str, ...]
    divided: tuple[str, ...] = ()


def beyond_float16(words: Words, drawn: Drawn, choices: Sequence[Resized], limits: Limits) -> Drawn:
    """Make inputs too large or too small for float16, or, for most draws, return what was drawn.

    Powers of two change no digit: what is owed is multiplied, or stays as it is.

    Parameters
    ----------
    words, limits
        The streams of the draw, and what it keeps to.
    drawn
        What was drawn.
    choices
        What can be done to cases of the operation.
    """
    stream = words.of(BEYOND_FLOAT16)
    if not choices or not stream.percent(_BEYOND_FLOAT16) or not limits.allow(BEYOND_FLOAT16):
        return drawn
    factor, choice = stream.one_of(_FACTORS), stream.one_of(choices)
    names = [name for name in (*choice.multiplied, *choice.divided) if name in drawn.inputs]
    is_held_otherwise = any(drawn.inputs[name].dtype != np.float64 for name in names)
    lies_together = not {ONE_ARRAY, ONE_PART}.isdisjoint(drawn.features)
    lacks = not {*choice.divided} <= drawn.inputs.keys()
    if limits.dtype == "float16" or drawn.sample or is_held_otherwise or lies_together or lacks:
        return drawn
    resized = {name: drawn.inputs[name] * (1 / factor if name in choice.divided else factor) for name in names}
    return replace(drawn, inputs={**drawn.inputs, **resized}, features=(*drawn.features, BEYOND_FLOAT16))
