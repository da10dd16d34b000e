"""A covering array, built row by row: every two levels of two factors meet in a row, where any row may hold both.

The construction is greedy and its order is fixed, so that the same table comes out everywhere. It starts from rows
that exist, and appends: a factor that gets another level costs rows and moves none.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Factors: TypeAlias = "Mapping[str, tuple[str, ...]]"
"""Factor to its levels. The first level is what a row has where nothing asks for another one."""

Choice: TypeAlias = tuple[str, str]
"""A factor and one of its levels."""

Pair: TypeAlias = tuple[Choice, Choice]

_MOST_STEPS = 300
"""So many choices are tried to complete a row around a pair, which takes a second, before the pair is given up."""


class Completed(NamedTuple):
    """Rows of a table, given and appended, each factor to level, and the pairs of levels that no row may hold."""

    rows: tuple[Mapping[str, str], ...]
    impossible: tuple[Pair, ...]


def pairs(factors: Factors) -> Iterator[Pair]:
    """Yield every two levels of two factors, in the order of the factors."""
    for (one, levels), (other, others) in combinations(factors.items(), 2):
        for level in levels:
            for another in others:
                yield (one, level), (other, another)


def pairs_of(row: Mapping[str, str]) -> set[Pair]:
    """Return the pairs that meet in a row, whose factors stand in the order of the table."""
    return set(combinations(row.items(), 2))


def completed(
    factors: Factors, allowed: Callable[[Mapping[str, str]], bool], rows: Sequence[Mapping[str, str]] = ()
) -> Completed:
    """Append rows until every two levels meet that may.

    `allowed` takes a row, or a part of one; an addition to a part that may not be does not redeem it.
    """
    greedy = _Greedy(factors, allowed)
    for row in rows:
        greedy.close(row)
    made: list[Mapping[str, str]] = list(rows)
    impossible: list[Pair] = []
    for pair in pairs(factors):
        if not greedy.is_open(pair):
            continue
        row = greedy.row_around(pair)
        if row is None:
            impossible.append(pair)
            greedy.give_up(pair)
        else:
            made.append(row)
            greedy.close(row)
    return Completed(tuple(made), tuple(impossible))


class _Greedy:
    """Greedy choice of rows that hold many of the pairs that no row holds yet.

    Sets of choices are integers with a bit for each choice, because a row looks at some thousand of them.
    """

    def __init__(self, factors: Factors, allowed: Callable[[Mapping[str, str]], bool]) -> None:
        self._factors = factors
        self._allowed = allowed
        self._choices: list[Choice] = [(name, level) for name, levels in factors.items() for level in levels]
        self._numbers = {choice: number for number, choice in enumerate(self._choices)}
        self._of_factor = {name: [self._numbers[name, level] for level in levels] for name, levels in factors.items()}
        self._open = [0] * len(self._choices)
        self._excluded = [0] * len(self._choices)
        for pair in pairs(factors):
            self._mark(self._open if allowed(dict(pair)) else self._excluded, pair)
        self._never = {number for number, choice in enumerate(self._choices) if not allowed(dict([choice]))}

    def is_open(self, pair: Pair) -> bool:
        """Return whether no row holds a pair, be it that none may."""
        one, other = (self._numbers[choice] for choice in pair)
        return bool((self._open[one] | self._excluded[one]) >> other & 1)

    def give_up(self, pair: Pair) -> None:
        """Ask no more for a pair."""
        one, other = (self._numbers[choice] for choice in pair)
        self._open[one] &= ~(1 << other)
        self._open[other] &= ~(1 << one)

    def close(self, row: Mapping[str, str]) -> None:
        """Ask no more for what meets in a row."""
        for pair in combinations(row.items(), 2):
            self.give_up(pair)

    def _mark(self, sets: list[int], pair: Pair) -> None:
        one, other = (self._numbers[choice] for choice in pair)
        sets[one] |= 1 << other
        sets[other] |= 1 << one

    def row_around(self, pair: Pair) -> Mapping[str, str] | None:
        """Return a row that holds a pair and as many open pairs as greed finds; None where none may hold it."""
        if not self._allowed(dict(pair)):
            return None
        # Greed may run into dead ends that the order of the factors avoids: the most restricted factor stands first.
        return self._row_around(pair, in_order=False) or self._row_around(pair, in_order=True)

    def _row_around(self, pair: Pair, *, in_order: bool) -> Mapping[str, str] | None:
        steps = 0

        def extended(row: dict[str, str], members: int, excluded: int) -> dict[str, str] | None:
            nonlocal steps
            steps += 1
            left = {
                name: [number for number in numbers if not excluded >> number & 1]
                for name, numbers in self._of_factor.items()
                if name not in row
            }
            if not left:
                return row
            if not all(left.values()):
                return None
            gains = {
                number: (self._open[number] & members).bit_count() for numbers in left.values() for number in numbers
            }
            first = next(iter(left))
            # Sorting is stable: of equal gains, the first factor and its first level go first.
            for number in sorted(gains, key=lambda number: -gains[number]):
                name, level = self._choices[number]
                if steps > _MOST_STEPS:
                    return None
                # Where nothing is gained any more, the factors follow one by one.
                if number in self._never or (name != first and (in_order or gains[number] == 0)):
                    continue
                further = {**row, name: level}
                if self._allowed(further):
                    found = extended(further, members | 1 << number, excluded | self._excluded[number])
                    if found is not None:
                        return found
            return None

        one, other = (self._numbers[choice] for choice in pair)
        found = extended(dict(pair), 1 << one | 1 << other, self._excluded[one] | self._excluded[other])
        return None if found is None else {name: found[name] for name in self._factors}
