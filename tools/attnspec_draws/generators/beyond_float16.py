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
    is_held_otherwise = any(drawn.inputs[name].dtype != np.float64 for name in names)
    lies_together = not {ONE_ARRAY, ONE_PART}.isdisjoint(drawn.features)
    lacks = not {*choice.divided} <= drawn.inputs.keys()
    if limits.dtype == "float16" or drawn.sample or is_held_otherwise or lies_together or lacks:
        return drawn
    resized = {name: drawn.inputs[name] * (1 / factor if name in choice.divided else factor) for name in names}
    return replace(drawn, inputs={**drawn.inputs, **resized}, features=(*drawn.features, BEYOND_FLOAT16))
