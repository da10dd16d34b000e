"""Tensors of drawn numbers, every one of which the dtype of the draw holds exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from attnspec.cases.generator import bell_of
from attnspec.contract.dtypes import rounded_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_draws.generators.words import Stream

BITS = 5
"""Width of the fields whose sum is a coarse number: 6 digits and a sign, of which bfloat16 holds 8."""

COARSE_UNIT = 2.0**-5
"""A coarse number lies between plus and minus 1.9375."""


def coarse(stream: Stream, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw numbers of few digits, spread like a bell around 0, that every dtype holds."""
    return np.multiply(bell_of(stream.words(math.prod(shape)), bits=BITS), COARSE_UNIT).reshape(shape)


def full_width(stream: Stream, shape: tuple[int, ...], dtype: str) -> NDArray[np.float64]:
    """Draw numbers from -2 to 2 that need every digit of a dtype."""
    steps = (stream.words(math.prod(shape)) >> np.uint64(10)).view(np.int64) - 2**53
    return rounded_to(np.multiply(steps, 2.0**-52).reshape(shape), dtype)


def whole_numbers(stream: Stream, shape: tuple[int, ...], least: int, most: int) -> NDArray[np.int64]:
    """Draw whole numbers from `least` to `most`; of a range of more than 65,536, so many are reached."""
    words = stream.words(math.prod(shape)) >> np.uint64(48)
    return ((words * np.uint64(most - least + 1)) >> np.uint64(16)).astype(np.int64).reshape(shape) + least
