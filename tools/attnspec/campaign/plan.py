"""The plan of a campaign: which draws there are, in parts that any worker can take."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from attnspec.draws import Recipe, recipe_from_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from attnspec.lattice import Limits

PART = 25
"""Draws of a part: so many take a fraction of a second, and little is lost when a worker is."""

BEGINNING = (1, 4, 20)
"""Draws of the first parts of each kind: few draws, or little time, shall reach all kinds."""

VARIED = 8
"""Each draw whose number is a multiple of this is asked with other numbers, too: what is kept by shape shows then."""


@dataclass(frozen=True)
class Sought:
    """What a campaign is to draw.

    Attributes
    ----------
    seed
        The word that it is drawn by.
    operations
        Operations to draw; those that are offered if empty.
    sizes
        ``elements`` and ``longest``, as `Limits` has them; as usual where one is missing.
    without
        What draws leave out, beside what the target does not offer.
    """

    seed: str
    operations: tuple[str, ...] = ()
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Kind:
    """Draws of one operation in one dtype, and what they keep to."""

    operation: str
    limits: Limits

    @property
    def name(self) -> str:
        """What tells it from all others of a plan."""
        return f"{self.operation}/{self.limits.dtype}"


@dataclass(frozen=True)
class Part:
    """Some draws of a kind, by their numbers.

    Attributes
    ----------
    kind, seed
        Which draws.
    first, count
        Their numbers.
    """

    kind: Kind
    seed: str
    first: int
    count: int

    @property
    def key(self) -> str:
        """What tells it from all others of a plan, halves of it too."""
        return f"{self.kind.name}/{self.first}+{self.count}"

    @property
    def numbers(self) -> range:
        """The numbers of its draws."""
        return range(self.first, self.first + self.count)

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """What makes its draws, in order."""
        made = [Recipe(self.kind.operation, self.seed, number, self.kind.limits) for number in self.numbers]
        return tuple(
            recipe.in_variant(variant)
            for recipe in made
            for variant in ((0, 1) if recipe.number % VARIED == 0 else (0,))
        )

    def without(self, done: Collection[int]) -> Iterator[Part]:
        """Give what is left of it where draws of some numbers are done."""
        first = self.first
        for number in (*sorted(number for number in done if number in self.numbers), self.numbers.stop):
            if first < number:
                yield Part(self.kind, self.seed, first, number - first)
            first = number + 1

    def halves(self) -> tuple[Part, Part]:
        """Return its first draws and the others."""
        half = self.count // 2
        return (
            Part(self.kind, self.seed, self.first, half),
            Part(self.kind, self.seed, self.first + half, self.count - half),
        )


@dataclass(frozen=True)
class Plan:
    """All draws of a campaign.

    Attributes
    ----------
    seed
        The word that they are drawn by.
    kinds
        What is drawn, in turn.
    cases
        How many draws there are in all; None for as many as there is time for.
    """

    seed: str
    kinds: tuple[Kind, ...]
    cases: int | None

    def parts(self) -> Iterator[Part]:
        """Give the parts, those of all kinds in turn."""
        left = self.cases
        first = 0
        for size in chain(BEGINNING, repeat(PART)):
            for kind in self.kinds:
                many = size if left is None else min(size, left)
                if not many:
                    return
                left = None if left is None else left - many
                yield Part(kind, self.seed, first, many)
            first += size

    def as_lines(self) -> list[str]:
        """Return the recipe of the first draw of each kind, which says all that the others keep to."""
        return [Recipe(kind.operation, self.seed, 0, kind.limits).text for kind in self.kinds]


def numbers_done(keys: Iterable[str]) -> dict[str, set[int]]:
    """Return the numbers of the draws that the parts of these keys hold, by the name of their kind."""
    done: dict[str, set[int]] = {}
    for key in keys:
        name, _, numbers = key.rpartition("/")
        first, count = map(int, numbers.split("+"))
        done.setdefault(name, set()).update(range(first, first + count))
    return done


def plan_from_lines(seed: str, lines: list[str], cases: int | None) -> Plan:
    """Read the plan that `Plan.as_lines` wrote.

    Raises
    ------
    UsageError
        If one of the lines is no recipe.
    """
    recipes = [recipe_from_text(line) for line in lines]
    return Plan(seed, tuple(Kind(recipe.operation, recipe.limits) for recipe in recipes), cases)
