"""Words drawn from a seed, in streams: each has a name, so that what one of them gives moves nothing in another.

The algorithm is in ``spec/draws.md``. Whole numbers alone decide, so that every machine draws the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from attnspec.cases.generator import fnv1a64, hashed_counters, splitmix64

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

Chosen = TypeVar("Chosen")

_MASK = (1 << 64) - 1


class Stream:
    """Stream of words that follow one another: those of the counters 0, 1, 2, ... under a seed, any text."""

    def __init__(self, seed: str) -> None:
        self._base = splitmix64(fnv1a64(seed))
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
        place = self.below(sum(weights.values()))
        for choice, weight in weights.items():
            if place < weight:
                return choice
            place -= weight
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

    def of(self, name: str) -> Stream:
        """Return the stream of a name, from its beginning."""
        return Stream(f"{self.seed}/{name}")

    def varied(self, name: str) -> Stream:
        """Return the stream of a name whose words are others in every variant, from its beginning."""
        if self.variant == REVERSED:
            return Backwards(f"{self.seed}/{name}")
        return self.of(f"{name}~{self.variant}" if self.variant else name)
