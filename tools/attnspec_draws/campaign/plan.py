"""The plan of a campaign: which draws there are, in parts that any worker can take."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any

from attnspec.base.errors import UsageError
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_draws import Recipe, drawable, recipe_from_text
from attnspec_draws.generators.limits import ELEMENTS, LONGEST, Limits
from attnspec_draws.generators.random_cases import Rare, case_generator_of

VARIED = 8
"""Each last one of so many draws is the one before it with other numbers: memory by shape shows then."""

PART = 3 * VARIED
"""Draws of a part: so many take a fraction of a second, and little is lost when a worker is."""

_RARE = 20
"""Which draw of each part is a rare one; the next is no other variant of it."""

MOST_ELEMENTS = 140_000
"""Elements that a rare draw may have where the user says nothing: it takes some milliseconds."""

BEGINNING = (1, 4, PART - 5)
"""Draws of the first parts of each kind, so that few draws, or little time, do for all kinds.

Here as in later parts, a draw and the one whose shapes it has stay together: the same process asks for both.
"""


@dataclass(frozen=True)
class Sought:
    """Draws sought by a campaign; `UsageError` where the seed is no word that a recipe can name.

    No `operations` means all that are offered; `sizes` may hold ``elements`` and ``longest`` of `Limits`; `without`
    adds to what the target does not offer.
    """

    seed: str
    operations: tuple[str, ...] = ()
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse a seed before anything is drawn."""
        Recipe(next(iter(drawable())), self.seed, 0, Limits(FLOAT_DTYPES[0]))
        if not self.seed.isprintable():
            raise UsageError(f"The seed {self.seed!r} cannot be printed: choose a word of letters or digits.")


@dataclass(frozen=True)
class Kind:
    """Draws of one operation in one dtype, and what they keep to."""

    operation: str
    limits: Limits

    @property
    def name(self) -> str:
        """Key among all others of a plan: what is always stated tells those of one operation and dtype apart."""
        return "/".join((self.operation, self.limits.dtype, *sorted(self.limits.stated)))

    def limits_of(self, number: int) -> Limits:
        """Return what a draw keeps to: one in each part is rare, of those that are offered and are not too large."""
        rare = self._rare if number % PART == _RARE else ()
        if not rare:
            return self.limits
        chosen = rare[number // PART % len(rare)]
        return replace(
            self.limits,
            extents={**chosen.extents, **self.limits.extents},
            given={**dict.fromkeys(chosen.given, ""), **self.limits.given},
            numbers=chosen.numbers or self.limits.numbers,
            elements=max(chosen.elements, self.limits.elements),
        )

    @cached_property
    def _rare(self) -> tuple[Rare, ...]:
        sizes = max(self.limits.elements, MOST_ELEMENTS if self.limits.elements == ELEMENTS else 0)
        longest = sizes if self.limits.longest == LONGEST else self.limits.longest
        return tuple(
            rare
            for rare in case_generator_of(self.operation).rare
            if self.limits.allow(*rare.given, *rare.words, rare.numbers)
            and rare.elements <= sizes
            and max(rare.extents.values()) <= longest
        )


@dataclass(frozen=True)
class Part:
    """Part of a campaign: `count` draws of a kind, numbered from `first`."""

    kind: Kind
    seed: str
    first: int
    count: int

    @property
    def key(self) -> str:
        """Key among all others of a plan, pieces of it too."""
        return f"{self.kind.name}/{self.first}+{self.count}"

    @property
    def numbers(self) -> range:
        """The numbers of its draws."""
        return range(self.first, self.first + self.count)

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Recipes of its draws, in order."""
        return tuple(map(self._recipe, self.numbers))

    def _recipe(self, number: int) -> Recipe:
        is_varied = number % VARIED == VARIED - 1
        recipe = Recipe(self.kind.operation, self.seed, number - is_varied, self.kind.limits_of(number))
        return recipe.in_variant(1) if is_varied else recipe

    def without(self, done: Collection[int]) -> Iterator[Part]:
        """Give what is left of it where draws of some numbers are done."""
        first = self.first
        for number in (*sorted(number for number in done if number in self.numbers), self.numbers.stop):
            if first < number:
                yield Part(self.kind, self.seed, first, number - first)
            first = number + 1

    def one_by_one(self) -> list[Part]:
        """Return each of its draws as a part."""
        return [Part(self.kind, self.seed, number, 1) for number in self.numbers]


@dataclass(frozen=True)
class Plan:
    """Plan of all draws of a campaign, its kinds in turn; `cases` is None for as many as there is time for."""

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

    def parts_done(self, keys: Iterable[str]) -> list[Part]:
        """Return the parts of these keys, pieces of parts among them, in the order of the plan."""
        kinds = {kind.name: kind for kind in self.kinds}
        done = [(kinds[name], first, count) for name, first, count in map(_read_key, keys)]
        order = list(self.kinds)
        done.sort(key=lambda each: (each[1], order.index(each[0])))
        return [Part(kind, self.seed, first, count) for kind, first, count in done]

    def as_lines(self) -> list[str]:
        """Return the recipe of the first draw of each kind, which says all that the others keep to."""
        return [Recipe(kind.operation, self.seed, 0, kind.limits).text for kind in self.kinds]


def numbers_done(keys: Iterable[str]) -> dict[str, set[int]]:
    """Return the numbers of the draws that the parts of these keys hold, by the name of their kind."""
    done: dict[str, set[int]] = {}
    for key in keys:
        name, first, count = _read_key(key)
        done.setdefault(name, set()).update(range(first, first + count))
    return done


def _read_key(key: str) -> tuple[str, int, int]:
    """Return the name of a part's kind, its first number, and how many it has."""
    name, _, numbers = key.rpartition("/")
    first, count = map(int, numbers.split("+"))
    return name, first, count


def plan_from_lines(seed: str, lines: list[str], cases: int | None) -> Plan:
    """Read the plan that `Plan.as_lines` wrote; `UsageError` where a line is no recipe."""
    recipes = [recipe_from_text(line) for line in lines]
    return Plan(seed, tuple(Kind(recipe.operation, recipe.limits) for recipe in recipes), cases)
