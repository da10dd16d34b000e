"""A number that is not finite, in the midst of others that are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_draws.generators.words import Words

HOLDING = (np.nan, np.inf, -np.inf)
"""Numbers that are not finite, each as likely."""


def spoil_one(words: Words, array: NDArray[Any]) -> None:
    """Put NaN, infinity or minus infinity at one index of an array that is not empty."""
    stream = words.of("spoilt feature")
    holding = stream.one_of(HOLDING)
    array.reshape(-1)[stream.below(array.size)] = holding
