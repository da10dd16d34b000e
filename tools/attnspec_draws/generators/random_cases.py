"""Random cases of a family: its case generators, and the trivial answers to distinguish from right ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec.base.extensions import import_object
from attnspec.contract import OPERATIONS
from attnspec_draws.generators.limits import ELEMENTS

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.refusing import Misfit, Refusals
    from attnspec_draws.generators.special_numbers import Resized
    from attnspec_draws.generators.trivial_answers import Part, TrivialAnswer
    from attnspec_draws.generators.words import Words


class Kinds(NamedTuple):
    """Kinds of an optional input: `words`, and `forms`, which say its axes as `Limits.given` does.

    A draw has the word of its kind and, behind the input's name and a point, its form among its features. It may need
    the capabilities `beside` for it. At the lengths `extents` no two forms are the same shape.
    """

    words: tuple[str, ...]
    forms: tuple[str, ...]
    beside: tuple[str, ...]
    extents: Mapping[str, int]


class Rare(NamedTuple):
    """Draws that a campaign makes now and then, as chance makes them too seldom, or limits never.

    They have lengths `extents`, optional inputs `given`, numbers of one class, if one is named, and need all `words`.
    """

    extents: Mapping[str, int]
    given: tuple[str, ...] = ()
    numbers: str = ""
    words: tuple[str, ...] = ()
    elements: int = ELEMENTS


@dataclass(frozen=True)
class CaseGenerator:
    """Case generator of one operation.

    `draw` draws a case, from the streams of a seed and within limits; `own_words` are features that `Limits.without`
    can name beside capabilities, arguments, and ``argument=value``; `refusals` has input to the clauses by which other
    shapes of it are refused; `derived` are inputs that follow from the others, as a stored output does;
    `classes_of_large` are those of draws too large to be stored whole, none where there are no such draws; `resized`
    are inputs that can be made too large or too small for float16 together; `misfits` other values of arguments that
    must be refused; `largest_whole` has the elements of the largest tensor, steps included, that a judge grades whole.

    `left_out_with` has words for what nearly every draw has, so that none is a feature, to all that is left out with
    each. `kinds` are inputs of which an implementation may take some kinds alone, and `wanted` groups of arguments that
    one may always want: truth values to be true, inputs to be there. `rare` draws are made by campaigns.
    """

    draw: Callable[[Words, Limits], Drawn]
    own_words: frozenset[str]
    refusals: Mapping[str, Refusals] = field(default_factory=dict[str, "Refusals"])
    derived: frozenset[str] = frozenset()
    classes_of_large: tuple[str, ...] = ()
    resized: tuple[Resized, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    largest_whole: int = 2**19  # Tolerances of more take minutes a draw.
    left_out_with: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    kinds: Mapping[str, Kinds] = field(default_factory=dict[str, "Kinds"])
    wanted: tuple[tuple[str, ...], ...] = ()
    rare: tuple[Rare, ...] = ()

    def leaving_out(self, without: frozenset[str]) -> frozenset[str]:
        """Return words to be left out with all that goes with them."""
        return without.union(*(self.left_out_with.get(word, ()) for word in without))


def _no_extents(operation: str, _: Mapping[str, tuple[int, ...]], __: Mapping[str, Any]) -> Mapping[str, int]:
    raise ValueError(f"cases of {operation} cannot be drawn at given shapes")


@dataclass(frozen=True)
class RandomCases:
    """Random cases of one family: operation to its case generator, and to its trivial answers.

    `extents_of` takes an operation, the shapes of its inputs and its attributes, and gives axis to length, as its case
    generator calls its axes, or raises `ValueError` where the shapes do not fit each other; whether a draw then has
    them is for the caller to see. `with_few_heads` gives shapes with as few batch entries and heads as show which
    belongs to which. `part_of` gives the part of a case with generated inputs that trivial answers are given for; None
    where that would take too long.
    """

    case_generators: Mapping[str, CaseGenerator]
    trivial_answers: Mapping[str, tuple[TrivialAnswer, ...]]
    extents_of: Callable[[str, Mapping[str, tuple[int, ...]], Mapping[str, Any]], Mapping[str, int]] = _no_extents
    with_few_heads: Callable[[str, Mapping[str, tuple[int, ...]]], Mapping[str, tuple[int, ...]]] = (
        lambda _operation, shapes: shapes
    )
    part_of: Callable[[Case], Part | None] = lambda _case: None


def random_cases_of(operation: str) -> RandomCases:
    """Return the random cases of the family of an operation."""
    return _random_cases(OPERATIONS[operation].family)


def case_generator_of(operation: str) -> CaseGenerator:
    """Return the case generator of an operation that is drawable."""
    return random_cases_of(operation).case_generators[operation]


def trivial_answers_of(operation: str) -> tuple[TrivialAnswer, ...]:
    """Return the trivial answers of an operation."""
    return random_cases_of(operation).trivial_answers.get(operation, ())


@cache
def _random_cases(family: str) -> RandomCases:
    """Return the random cases in the folder of a family; none for one that has no folder."""
    room = f"attnspec_draws.{family}"
    return import_object(f"{room}:RANDOM_CASES") if find_spec(room) else RandomCases({}, {})
