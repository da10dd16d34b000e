"""Conventions and capabilities that would turn most failures into passes, were they declared.

Results are graded anew, without another call. Whether the author means it so, only the author knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnspec.contract import CAPABILITIES, CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.contract.conventions import resolve
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.diagnosis.choosing import spread
from attnspec.diagnosis.undeclared import graded_anew, is_right_under
from attnspec.families.lookup import needed
from attnspec.grading import OUTPUTS_UNCHANGED, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from attnspec.runner import Result

_OFTEN = 0.25
"""Share of the cases needing a capability that must fail before it counts as lacking."""

_CLEARLY_LESS = 0.5
"""Failure rate of other cases, at most, as a share of the rate among those that need a capability."""

_SPARED = 5
"""Cases without need of a capability that must pass: where all cases need it, nothing points at it."""

_WORTH_SAYING = 0.5
"""Share of all failures for which declarations must account: else something else is wrong, and comes first."""

_MOST_GRADED = 120
"""Failures graded anew for one choice of a convention; more would take longer than the run."""

_TRIED_FIRST = 4

_TRIED = (Settles.RESULTS, Settles.INNER_PRECISION, Settles.REFUSALS, Settles.LIFETIME)


@dataclass(frozen=True)
class Declarations:
    """Capabilities lacking (`without`) and conventions, some for one dtype or capability, that could be declared.

    Of the `of` failures, `fewer` would be none: they would pass or not be graded.
    """

    without: tuple[str, ...]
    conventions: Mapping[str, str]
    fewer: int
    of: int


@dataclass(frozen=True)
class _Offer:
    """Capability, or convention where `choice` is set, that could be declared.

    It covers failures, by identity, and gives up passes: so many results would not be graded any more.
    """

    word: str
    choice: str | None
    covers: frozenset[int]
    gives_up: int = 0


def could_be_declared(results: Sequence[Result]) -> Declarations | None:
    """Return declarations under which most failures of a run would be none; None where something else is wrong."""
    search = _Search(results)
    of = len(search.wrong)
    if search.concerned() < _WORTH_SAYING * of:
        return None
    # An offer that gives up more than it covers, or holds of some cases alone, is for failures without another account.
    for is_worth_it, is_for_all in ((True, True), (False, True), (False, False)):
        while search.take(is_worth_it=is_worth_it, is_for_all=is_for_all):
            pass
    fewer = of - len(search.wrong)
    if not search.taken or fewer < _WORTH_SAYING * of:
        return None
    kept = [*search.taken]
    for offer in search.taken:
        # Later offers may have made it superfluous.
        if offer.covers <= frozenset[int]().union(*(other.covers for other in kept if other is not offer)):
            kept.remove(offer)
    return Declarations(
        without=tuple(offer.word for offer in kept if offer.choice is None),
        conventions={offer.word: offer.choice for offer in kept if offer.choice is not None},
        fewer=fewer,
        of=of,
    )


class _Search:
    """Search over all results of a run: failures left, passes, and offers taken so far."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.wrong = [result for result in results if result.is_wrong]
        self.right = [result for result in results if result.establishes]
        self.taken: list[_Offer] = []
        self._offers: list[_Offer] | None = None
        cases = {result.case.id: result.case for result in results}
        self._needs = {case_id: needed(case) for case_id, case in cases.items()}
        self._capabilities = [
            _Offer(word, None, covers, sum(map(self._needing(word), self.right)))
            for word in CAPABILITIES
            if (covers := frozenset(id(result) for result in self.wrong if self._needing(word)(result)))
        ]

    def concerned(self) -> int:
        """Return the most failures that a declaration may concern; the rest is wrong for other reasons."""
        standing = [offer.covers for offer in self._capabilities if self._stands_out(offer)]
        covered = frozenset[int]().union(*standing)
        concerned = {id(result) for name in CONVENTIONS if _says_who(name) for result in _concerned(name, self.wrong)}
        left = [result for result in self.wrong if id(result) not in covered | concerned]
        return len(self.wrong) - (0 if self._conventions(left[:_TRIED_FIRST]) else len(left))

    def take(self, *, is_worth_it: bool, is_for_all: bool) -> bool:
        """Take the best offer, if there is one that covers failures left.

        `is_worth_it`: only one that covers more than it gives up; `is_for_all`: none for one dtype or capability alone.
        """
        left = {id(result) for result in self.wrong}
        # Grading anew under conventions costs most of the time, and stays the same until something is taken.
        if self._offers is None:
            self._offers = [*self._conventions(self.wrong), *self._capabilities]
        gains = [(len(offer.covers & left), offer) for offer in self._offers]
        standing = [
            (gain - offer.gives_up, offer)
            for gain, offer in gains
            if gain > (offer.gives_up if is_worth_it else 0)
            and not (is_for_all and "@" in offer.word)
            and (offer.choice is not None or self._stands_out(offer))
        ]
        if not standing:
            return False
        best = max(standing, key=lambda entry: entry[0])[1]
        self.taken.append(best)
        self._offers = None
        self.wrong = [result for result in self.wrong if id(result) not in best.covers]
        return True

    def _needing(self, word: str) -> Callable[[Result], bool]:
        return lambda result: word in self._needs[result.case.id]

    def _stands_out(self, offer: _Offer) -> bool:
        """Return whether cases needing a capability fail often, and clearly more often than the others left."""
        if len(self.right) - offer.gives_up < _SPARED:
            return False
        failing = sum(id(result) in offer.covers for result in self.wrong)
        others = len(self.wrong) - failing
        among = failing / max(1, failing + offer.gives_up)
        elsewhere = others / max(1, others + len(self.right) - offer.gives_up)
        return among >= _OFTEN and elsewhere <= _CLEARLY_LESS * among

    def _conventions(self, wrong: Sequence[Result]) -> list[_Offer]:
        """Return choices of conventions under which failures would be none, and passes would still pass."""
        taken = {offer.word.partition("@")[0] for offer in self.taken}
        return [
            offer
            for name, convention in CONVENTIONS.items()
            if convention.settles in _TRIED and name not in taken
            for choice in convention.choices
            if (offer := self._under(name, choice, _concerned(name, wrong))) is not None
        ]

    def _under(self, name: str, choice: str, wrong: Sequence[Result]) -> _Offer | None:
        """Return a choice as an offer, for all cases or for some; None where it would turn no failure."""
        if CONVENTIONS[name].settles is Settles.LIFETIME:
            departs = choice != CONVENTIONS[name].choices[0]
            return _Offer(name, choice, frozenset(map(id, wrong))) if wrong and departs else None

        def anew(result: Result) -> Result:
            return graded_anew(result, {**self._declared(result), name: choice})

        def is_none(result: Result) -> bool:
            return is_right_under(anew(result), name)

        others = [result for result in wrong if result.run.conventions.get(name, choice) != choice]
        looked_at = spread(others, _MOST_GRADED)
        first, later = looked_at[:_TRIED_FIRST], looked_at[_TRIED_FIRST:]
        if not any(map(is_none, [*first, *later[-_TRIED_FIRST:]])):
            return None
        turned = [
            result
            for result, now in ((result, anew(result)) for result in looked_at)
            if is_right_under(now, name) and self._expects_something_else(name, result, now)
        ]
        passing = [result for result in _concerned(name, self.right) if result.run.conventions.get(name) != choice]
        broken = [result for result in spread(passing, _MOST_GRADED) if not is_none(result)]
        for words, holds in self._qualified(others):
            for_these = frozenset(id(result) for result in turned if holds(result))
            if for_these and not any(map(holds, broken)):
                return _Offer(f"{name}{words}", choice, for_these)
        return None

    def _expects_something_else(self, name: str, result: Result, now: Result) -> bool:
        """Return whether other outputs are expected now than under the declarations taken, without the convention."""
        if CONVENTIONS[name].settles is not Settles.RESULTS or result.got is None:
            return True
        taken = self._declared(result)
        before = (graded_anew(result, taken) if taken else result).run.expected
        expected = now.run.expected
        if not isinstance(before, Values) or not isinstance(expected, Values):
            return True
        return any(
            not np.array_equal(before.outputs[output], expected.outputs[output], equal_nan=True)
            or not np.array_equal(before.ungraded.get(output, False), expected.ungraded.get(output, False))
            for output in result.got
            if output in before.outputs and output in expected.outputs
        )

    def _declared(self, result: Result) -> dict[str, str]:
        """Return the choices taken so far that apply to a result."""
        chosen = {offer.word: offer.choice for offer in self.taken if offer.choice is not None}
        if not chosen:
            return {}
        needs = self._needs[result.case.id]
        resolved = resolve(chosen, result.case.operation, dtype=result.dtype, needed=needs)
        return {name: resolved[name] for key in chosen if (name := key.partition("@")[0]) in resolved}

    def _qualified(self, wrong: Sequence[Result]) -> Iterator[tuple[str, Callable[[Result], bool]]]:
        """Yield the cases for which a convention may be declared: all, those of one dtype, those of one capability."""
        yield "", lambda _: True
        for dtype in dict.fromkeys(result.dtype for result in wrong):
            yield f"@{dtype}", lambda result, dtype=dtype: result.dtype == dtype
        for word in CAPABILITIES:
            yield f"@{word}", self._needing(word)


def _says_who(name: str) -> bool:
    """Return whether a convention concerns some cases only."""
    return CONVENTIONS[name].settles in (Settles.RESULTS, Settles.REFUSALS, Settles.LIFETIME)


def _concerned(name: str, results: Collection[Result]) -> list[Result]:
    """Return the results that a convention may turn."""
    settles = CONVENTIONS[name].settles
    if settles is Settles.RESULTS:
        return [result for result in results if name in result.case.conventions or _rejects(result, name)]
    if settles is Settles.REFUSALS:
        return [result for result in results if _rejects(result, name)]
    if settles is Settles.LIFETIME:
        return [result for result in results if result.verdict.check == OUTPUTS_UNCHANGED]
    return [result for result in results if name in result.run.conventions and result.dtype == FLOAT_DTYPES[0]]


def _rejects(result: Result, name: str) -> bool:
    rejects = result.case.rejects
    return rejects is not None and rejects.convention is not None and rejects.convention[0] == name
