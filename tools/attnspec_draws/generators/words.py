"""Words and numbers drawn from a seed, in streams: each has a name, so that none moves anything in another.

The algorithm is in ``spec/draws.md``. Whole numbers alone decide, so that every machine draws the same;
the dtype of the draw has every number exactly.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from attnspec.cases.generator import bell_of, fnv1a64, hashed_counters, splitmix64
from attnspec.contract.dtypes import rounded_to

Chosen = TypeVar("Chosen")

_MASK = (1 << 64) - 1


def weights(name: str) -> Mapping[str, int]:
    """Return the weight of each thing that can be drawn, as ``weights.json`` has them under a name."""
    return json.loads(Path(__file__).with_name("weights.json").read_bytes())[name]


class Stream:
    """Stream of words that follow one another: those of the counters 0, 1, 2, ... under a seed, any text.

    `begun` is the hash of what the seed begins with, where that stands before `seed` and is hashed already.
    """

    def __init__(self, seed: str, begun: int = fnv1a64("")) -> None:
        self._base = splitmix64(fnv1a64(seed, begun))
        self._drawn = 0

    def word(self) -> int:
        """Return the next word, a whole number below 2**64."""
        word = splitmix64((self._base + self._drawn) & _MASK)
        self._drawn += 1
        return word

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words (count,)."""
        words = hashed_counters(self._base, self._drawn, count)
        self._drawn += count
        return words

    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to, but not including, `bound`."""
        return self.word() * bound >> 64

    def between(self, least: int, most: int) -> int:
        """Return a whole number from `least` to `most`."""
        return least + self.below(most - least + 1)

    def of_any_size(self, least: int, most: int) -> int:
        """Return a whole number from `least`, at least 1, to `most`; each number of binary digits is as likely."""
        digits = self.between(least.bit_length(), most.bit_length())
        return self.between(max(least, 1 << (digits - 1)), min(most, (1 << digits) - 1))

    def percent(self, share: int) -> bool:
        """Return true in `share` of a hundred draws."""
        return self.below(100) < share

    def one_of(self, choices: Sequence[Chosen]) -> Chosen:
        """Return one of the choices, all as likely."""
        return choices[self.below(len(choices))]

    def weighted(self, weights: Mapping[Chosen, int]) -> Chosen:
        """Return one of the keys, as likely as its whole number says."""
        index = self.below(sum(weights.values()))
        for choice, weight in weights.items():
            if index < weight:
                return choice
            index -= weight
        raise ValueError("weights must be whole numbers from 0 on, and not all be 0")


class Backwards(Stream):
    """The same words, but that those which are drawn together come in the opposite order."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words (count,), the last one first."""
        return super().words(count)[::-1]


REVERSED = 2
"""The variant that has the numbers of the first one in the opposite order: their sums are the same."""


class Words:
    """Streams of one draw, by a seed, any text; `variant` changes only numbers that are drawn by `varied`."""

    def __init__(self, seed: str, variant: int = 0) -> None:
        self.seed = seed
        self.variant = variant
        # A draw has a dozen streams, whose seeds begin alike.
        self._begun = fnv1a64(f"{seed}/")

    def of(self, name: str) -> Stream:
        """Return the stream of a name, from its beginning."""
        return Stream(name, self._begun)

    def varied(self, name: str) -> Stream:
        """Return the stream of a name whose words are others in every variant, from its beginning."""
        if self.variant == REVERSED:
            return Backwards(name, self._begun)
        return self.of(f"{name}~{self.variant}" if self.variant else name)


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


def coarse_or_wide(stream: Stream, shape: tuple[int, ...], dtype: str, *, is_wide: bool) -> NDArray[np.float64]:
    """Draw numbers of full width, or coarse ones."""
    return full_width(stream, shape, dtype) if is_wide else coarse(stream, shape)


def whole_numbers(stream: Stream, shape: tuple[int, ...], least: int, most: int) -> NDArray[np.int64]:
    """Draw whole numbers from `least` to `most`; of a range of more than 65,536, so many are reached."""
    words = stream.words(math.prod(shape)) >> np.uint64(48)
    return ((words * np.uint64(most - least + 1)) >> np.uint64(16)).astype(np.int64).reshape(shape) + least
