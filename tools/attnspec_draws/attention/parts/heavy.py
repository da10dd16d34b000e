"""Values whose sum is too large for float16, though their mean is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.contract.dtypes import rounded_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from attnspec_draws.generators import Limits, Words

HEAVY = "heavy"

_HEAVY = 5
"""Of a hundred draws, in how many values are heavy."""

_OFF, _SIZE = 4.0, 2.0**13
"""Coarse numbers lie between 2 and 6 then, and all of them between 16384 and 49152: four come to more than 65504."""


def make_heavy(
    words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str], limits: Limits, *, may_be: bool = True
) -> tuple[str, ...]:
    """Make the values in inputs `names` heavy, in place, and return the feature; for most draws nothing."""
    if not words.of(HEAVY).percent(_HEAVY) or not may_be or not limits.allow(HEAVY):
        return ()
    for name in names:
        if name in inputs:
            inputs[name] = rounded_to(inputs[name] + _OFF, limits.dtype) * _SIZE
    return (HEAVY,)
