"""The least that an implementation takes: what it declines of every draw, and what it always wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from attnspec.contract import CAPABILITIES, OPERATIONS
from attnspec_draws.drawing import case_of, drawn_of, words_of_draws
from attnspec_draws.generators.random_cases import Kinds, case_generator_of
from attnspec_draws.seed_text import Recipe

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits

_Each = TypeVar("_Each")

Offered = Callable[["Case"], "bool | None"]
"""Whether an implementation answers a case; None where it comes to no answer."""


def least_offered(operation: str, limits: Limits, offered: Offered, seed: str) -> Limits:
    """Find what every draw must have, or lack, to be taken, and leave out the kinds of inputs that are declined.

    Where the plainest draw is declined, ever more particular ones are tried: a layer of self-attention declines other
    tokens, a causal one what is not causal, one with biases what lacks them. The limits stay as they are where no draw
    is taken.
    """
    search = _Search(operation, limits, offered, seed)
    least = search.least()
    return limits if least is None else _without_declined_kinds(search, least)


def offered_under_flags(operation: str, limits: Limits, known: Limits, offered: Offered, seed: str) -> Iterator[Limits]:
    """Give limits of draws that state a truth value, with the inputs that are taken beside it alone.

    `limits` are those from which the `known` ones were learned. ALiBi, for one, is often offered under causality only.
    """
    search = _Search(operation, known, offered, seed)
    declined = [name for name in OPERATIONS[operation].optional_inputs if name in known.without - limits.without]
    for group in search.flags:
        stated = replace(known, stated={**known.stated, **dict.fromkeys(group, True)})
        alone = [name for name in declined if search.is_taken_with(name, stated)]
        if alone and stated.stated.keys() != known.stated.keys():
            yield _without_declined_kinds(search, replace(stated, without=stated.without.difference(alone)))


def _without_declined_kinds(search: _Search, limits: Limits) -> Limits:
    """Leave out the kinds that are declined, each tried in the plainest draw; the whole input, where all are."""
    for name, kinds in search.generator.kinds.items():
        if limits.allow(name):
            taken = [each for each in search.of_each_kind(name, limits) if search.is_taken(each)]
            limits = _of_kinds(name, kinds, limits, taken)
    return limits


class _Search:
    """Search for the plainest draws that an implementation takes."""

    def __init__(self, operation: str, limits: Limits, offered: Offered, seed: str) -> None:
        self.generator = case_generator_of(operation)
        self._operation, self._limits, self._offered, self._seed = operation, limits, offered, seed
        self._groups = [group for group in self.generator.wanted if limits.allow(*group)]
        attributes = OPERATIONS[operation].attributes
        self.flags = [group for group in self._groups if group[0] in attributes]
        self._kinds_wanted = [name for (name, *_) in self._groups if name in self.generator.kinds]

    def least(self) -> Limits | None:
        """Return the limits of the plainest draw that is taken; None where none is."""
        for own in self._nearest_first():
            if self.is_taken(own):
                return own
        for own, name in product(self._nearest_first(), self._kinds_wanted):
            if any(map(self.is_taken, self.of_each_kind(name, own))):
                return replace(own, given={**own.given, name: ""})
        return None

    def is_taken(self, limits: Limits) -> bool:
        """Return whether the plainest draw within limits is taken."""
        recipe = self._recipe(limits)
        return self._offered(case_of(recipe, drawn_of(recipe))) is not False

    def is_taken_with(self, name: str, limits: Limits) -> bool:
        """Return whether the plainest draw that has an input is taken, of any kind, if there is such a draw."""
        having = replace(limits, without=limits.without - {name}, given={**limits.given, name: ""})
        each = self.of_each_kind(name, having) if name in self.generator.kinds else (having,)
        return any(name in self._drawn(kind).inputs and self.is_taken(kind) for kind in each)

    def _nearest_first(self) -> Iterator[Limits]:
        """Give the limits of ever more particular draws: with what may always be wanted, and without what is usual."""
        inputs = [group for group in self._groups if group not in self.flags and group[0] not in self._kinds_wanted]
        usual = [word for word in self.generator.left_out_with if self._limits.allow(word)]
        for words, given, stated in product(_none_or_one(usual), _none_or_one(inputs), _none_or_one(self.flags)):
            yield replace(
                self._limits,
                without=self._limits.without.union(words),
                given={**self._limits.given, **{name: "" for group in given for name in group}},
                stated={**self._limits.stated, **{name: True for group in stated for name in group}},
            )

    def of_each_kind(self, name: str, limits: Limits) -> Iterator[Limits]:
        """Give the limits of draws that have an input, of each kind in turn."""
        kinds = self.generator.kinds[name]
        for word, form in product(kinds.words, kinds.forms):
            if limits.allow(word, f"{name}.{form}"):
                yield replace(
                    limits,
                    without=limits.without | ({*kinds.words} - {word}),
                    given={**limits.given, name: form},
                    extents={**kinds.extents, **limits.extents},
                )

    def _recipe(self, limits: Limits) -> Recipe:
        return Recipe(self._operation, self._seed, 0, replace(limits, without=self._without(limits)))

    def _drawn(self, limits: Limits) -> Drawn:
        return drawn_of(self._recipe(limits))

    def _without(self, limits: Limits) -> frozenset[str]:
        """Return all that a draw can leave out, but what it is to have."""
        contract = OPERATIONS[self._operation]
        optional = {*contract.optional_inputs, *contract.attributes} - {*contract.required_arguments}
        had = {*self.generator.left_out_with, *limits.given, *limits.stated}
        for name, kinds in self.generator.kinds.items():
            had.update(kinds.words, kinds.beside, (f"{name}.{form}" for form in kinds.forms))
        return limits.without.union(({*CAPABILITIES, *words_of_draws()} | optional) - had)


def _none_or_one(several: Sequence[_Each]) -> list[tuple[_Each, ...]]:
    return [(), *((each,) for each in several)]


def _of_kinds(name: str, kinds: Kinds, limits: Limits, taken: Sequence[Limits]) -> Limits:
    """Return limits without the kinds that are not among those taken; without the input where none is."""
    if not taken:
        return limits if name in limits.given else replace(limits, without=limits.without | {name})
    forms = {each.given[name] for each in taken}
    words = {word for word in kinds.words for each in taken if each.allow(word)}
    declined = {f"{name}.{form}" for form in kinds.forms if form not in forms} | ({*kinds.words} - words)
    return replace(limits, without=limits.without | declined)
