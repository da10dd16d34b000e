"""Features that distinguish failing cases from passing ones, of those that a family knows of its cases."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def common_features(
    failing: Sequence[frozenset[str]], passing: Sequence[frozenset[str]]
) -> tuple[tuple[str, ...], int] | None:
    """Return the one or two features that all failing cases have and the fewest passing ones, and how many of these.

    None where no feature distinguishes failing from passing cases.
    """
    if not failing or not passing:
        return None
    shared = sorted(failing[0].intersection(*failing))
    single: list[tuple[str, ...]] = [(phrase,) for phrase in shared]
    best = _rarest(single, passing)
    if best is None or 2 * best[1] >= len(passing):
        return None
    double: list[tuple[str, ...]] = list(combinations(shared, 2))
    best_two = _rarest(double, passing)
    # A second feature is worth its words only if it explains much.
    return best_two if best_two is not None and best[1] > 0 and 3 * best_two[1] <= best[1] else best


def _rarest(choices: Iterable[tuple[str, ...]], found: Sequence[frozenset[str]]) -> tuple[tuple[str, ...], int] | None:
    """Return the features that the fewest cases have together, and the number of these cases."""
    counted = [(phrases, _count(phrases, found)) for phrases in choices]
    return min(counted, key=lambda entry: entry[1], default=None)


def _count(phrases: tuple[str, ...], found: Iterable[frozenset[str]]) -> int:
    return sum(all(phrase in of_case for phrase in phrases) for of_case in found)
