"""Input of a drawn case that is the same everywhere: it excludes nothing, or nothing but one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_draws.generators.limits import Limits
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
    """Make all numbers of some inputs `names` alike, in place, and return the feature's word; for most draws nothing.

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
