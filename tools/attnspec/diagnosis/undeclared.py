"""Undeclared conventions and capabilities: failures that would be none, were they declared.

Results are kept, so they are graded anew under each choice, without another call. Whether the author means it so, only
the author knows.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnspec.contract import CAPABILITIES, CONVENTIONS, OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import conventions_settling, resolve_conventions
from attnspec.diagnosis.attribute_values import is_value_of, may_be_meant
from attnspec.diagnosis.choosing import finite_results, spread_results
from attnspec.diagnosis.grading_anew import concerned_by, graded_anew, graded_without
from attnspec.diagnosis.offer_content import comes_of_lack, is_explained
from attnspec.families.lookup import needed_capabilities
from attnspec.grading import Values
from attnspec.runner import Result

_NEARLY_ALL = 0.8
"""Share of failures that a convention must account for to be reported: something else may be wrong beside it."""

_GRADED_FIRST = 3
_MOST_OF_A_DTYPE = 400
"""Failures of a dtype that are graded anew; more would take longer than the run."""

_GRADED_ANEW = (Settles.RESULTS, Settles.INNER_PRECISION, Settles.REFUSALS, Settles.ATTRIBUTE)

_OFTEN = 0.25
"""Share of the cases needing a capability that must fail before it counts as lacking."""

_SOMETIMES = 0.05
"""The same share where most of them raised: broadcasting carries many others through, such as one key head."""

_CLEARLY_LESS = 0.5
"""Failure rate of other cases, at most, as a share of the rate among those that need a capability."""

_OTHERWISE = 0.1
"""Share of failures needing a capability that may have come otherwise than of its absence: two things at once."""

_SPARED = 5
"""Cases without need of a capability that must pass: where all cases need it, nothing points at it."""

_SEVERAL = 3
"""Cases with an argument that must fail, and none pass, before the argument is at fault: one or two have much else."""

_WORTH_SAYING = 0.5
"""Share of all failures for which declarations must account: else something else is wrong, and comes first."""

_MOST_GRADED = 120
"""Failures graded anew for one choice of a convention; more take longer than the run. Once it is taken, all are."""

_TRIED_FIRST = 4

_OF_OUTPUTS = frozenset(output.capability for operation in OPERATIONS.values() for output in operation.gives)
"""Capabilities to return an output: its absence shows in every result."""

_TRIED = (*_GRADED_ANEW, Settles.LIFETIME)
_OF_SOME_CASES = (Settles.RESULTS, Settles.REFUSALS, Settles.LIFETIME, Settles.ATTRIBUTE)


@dataclass(frozen=True)
class Undeclared:
    """Convention, and the choice to declare, under which failures would pass.

    `dtypes` is empty where it holds of all in which something fails. Of `of` failures looked at, `passes` would be
    none: they would pass or not be graded.
    """

    convention: str
    choice: str
    dtypes: tuple[str, ...]
    passes: int
    of: int


@dataclass(frozen=True)
class GradedAnew:
    """Failures graded anew under an undeclared convention: `passes` as they were, `still` as they are under it."""

    undeclared: Undeclared
    passes: tuple[Result, ...]
    still: tuple[Result, ...]


def undeclared_convention(failing: Sequence[Result], passing: Sequence[Result]) -> GradedAnew | None:
    """Return the convention under which nearly all failures of one operation, or those of a dtype, would be none."""
    by_dtype: dict[str, list[Result]] = {}
    for result in failing:
        by_dtype.setdefault(result.dtype, []).append(result)
    chosen = {dtype: spread_results(finite_results(of_dtype), _MOST_OF_A_DTYPE) for dtype, of_dtype in by_dtype.items()}
    found = [
        turned
        for name, choice in _choices(failing[0])
        if (turned := _turned(name, choice, _dtypes_concerned(name, chosen, failing, passing), failing)) is not None
    ]
    return max(found, key=lambda entry: entry.undeclared.passes, default=None)


def _choices(result: Result) -> list[tuple[str, str]]:
    """Return the undeclared choices of every convention that decides expected values."""
    declared = result.run.conventions
    return [
        (name, choice)
        for name in result.run.operation.conventions
        if name in declared and CONVENTIONS[name].settles in _GRADED_ANEW
        for choice in CONVENTIONS[name].choices
        if choice != declared[name] and may_be_meant(name, choice, result)
    ]


def _dtypes_concerned(
    name: str, by_dtype: Mapping[str, Sequence[Result]], failing: Sequence[Result], passing: Sequence[Result]
) -> Mapping[str, Sequence[Result]]:
    """Return the dtypes, with their failures, that a convention may concern.

    One on the precision inside concerns a dtype as a whole: where few cases fail, they are computed roughly themselves.
    """
    if name not in conventions_settling(Settles.INNER_PRECISION):
        return by_dtype
    wrong, right = (Counter(result.dtype for result in finite_results(results)) for results in (failing, passing))
    return {dtype: chosen for dtype, chosen in by_dtype.items() if wrong[dtype] >= right[dtype]}


def _turned(
    name: str, choice: str, by_dtype: Mapping[str, Sequence[Result]], failing: Sequence[Result]
) -> GradedAnew | None:
    """Return the failures under a convention; None where most would remain in every dtype.

    `by_dtype` holds the failures that show whether it is meant.
    """
    dtypes: list[str] = []
    looked_at = 0
    anew: dict[int, Result] = {}

    def under(result: Result) -> Result:
        """Return a result as it is under the convention, or unchanged where that only leaves it ungraded."""
        now = graded_anew(result, {name: choice})
        return now if now.is_wrong or is_explained(result, now) else result

    for dtype, chosen in by_dtype.items():
        first = [under(result) for result in chosen[:_GRADED_FIRST]]
        if 2 * sum(not now.is_wrong for now in first) <= len(first):
            continue
        now = [*first, *(under(result) for result in chosen[_GRADED_FIRST:])]
        if sum(not each.is_wrong for each in now) < _NEARLY_ALL * len(chosen):
            continue
        dtypes.append(dtype)
        looked_at += len(chosen)
        anew.update({id(result): each for result, each in zip(chosen, now, strict=True)})
    if not any(now.status in ("pass", "unsupported") for now in anew.values()):
        return None
    right = sum(not now.is_wrong for now in anew.values())
    left_out = [result for result in failing if result.dtype in dtypes and id(result) not in anew]
    anew.update({id(result): under(result) for result in left_out[:_MOST_OF_A_DTYPE]})
    graded = [(result, anew.get(id(result), result)) for result in failing]
    passes = tuple(result for result, now in graded if not now.is_wrong)
    still = tuple(now for _, now in graded if now.is_wrong)
    said = Undeclared(
        name, choice, () if {result.dtype for result in failing} == set(dtypes) else tuple(dtypes), right, looked_at
    )
    return GradedAnew(said, passes, still)


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
        while search.take_best_offer(is_worth_it=is_worth_it, is_for_all=is_for_all):
            pass
    fewer = of - len(search.wrong)
    if not search.taken or fewer < _WORTH_SAYING * of:
        return None
    kept = [*search.taken]
    for offer in search.taken:
        # Later offers may have made it superfluous; but not a convention one that leaves its results ungraded.
        others = [other for other in kept if other is not offer and (offer.choice is None or other.choice is not None)]
        if offer.covers <= frozenset[int]().union(*(other.covers for other in others)):
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
        self._failed = tuple(self.wrong)
        self.taken: list[_Offer] = []
        self._offers: list[_Offer] | None = None
        cases = {result.case.id: result.case for result in results}
        self._needs = {case_id: needed_capabilities(case) for case_id, case in cases.items()}
        self._look_at_capabilities()
        self._of_lack: dict[int, bool] = {}

    def _look_at_capabilities(self) -> None:
        """Find what each capability would cover of all failures, and give up of the passes."""
        self._passing_with = Counter(word for result in self.right for word in self._needs[result.case.id])
        self._never_pass = self._arguments_that_never_pass()
        self._capabilities = [
            _Offer(word, None, covers, self._passing_with[word])
            for word in CAPABILITIES
            if (covers := frozenset(id(result) for result in self._failed if self._is_covered(word, result)))
        ]

    def concerned(self) -> int:
        """Return the most failures that a declaration may concern; the rest is wrong for other reasons."""
        standing = [offer.covers for offer in self._capabilities if self._stands_out(offer)]
        covered = frozenset[int]().union(*standing)
        # Of the precision inside, nobody says which cases it concerns.
        of_some = [name for name, convention in CONVENTIONS.items() if convention.settles in _OF_SOME_CASES]
        concerned = {id(result) for name in of_some for result in concerned_by(name, self.wrong)}
        left = [result for result in self.wrong if id(result) not in covered | concerned]
        return len(self.wrong) - (0 if self._convention_offers(left[:_TRIED_FIRST]) else len(left))

    def take_best_offer(self, *, is_worth_it: bool, is_for_all: bool) -> bool:
        """Take the best offer, if there is one that covers failures left.

        `is_worth_it`: only one that covers more than it gives up; `is_for_all`: none for one dtype or capability alone.
        """
        left = {id(result) for result in self.wrong}
        # Grading anew under conventions costs most of the time, and stays the same until something is taken.
        if self._offers is None:
            self._offers = [*self._convention_offers(self.wrong), *self._capabilities]
        gains = [(len(offer.covers & left), offer) for offer in self._offers]
        standing = [
            (gain - offer.gives_up, offer)
            for gain, offer in gains
            if gain > (offer.gives_up if is_worth_it else 0)
            and not (is_for_all and "@" in offer.word)
            and (offer.choice is not None or (self._stands_out(offer) and not self._hides(offer)))
        ]
        if not standing:
            return False
        best = self._with_all_failures(max(standing, key=lambda entry: entry[0])[1])
        self.taken.append(best)
        self._offers = None
        if best.choice is not None:
            # An answer that is graded right under a convention is given up with a capability like any other.
            covered = [result for result in self.wrong if id(result) in best.covers]
            self.right += [each for each in covered if each.got is not None and each.case.rejects is None]
        self.wrong = [result for result in self.wrong if id(result) not in best.covers]
        self._look_at_capabilities()
        return True

    def _with_all_failures(self, offer: _Offer) -> _Offer:
        """Return a convention's offer with the failures that were not graded anew to find it."""
        name, *where = offer.word.split("@")
        if offer.choice is None or CONVENTIONS[name].settles is Settles.LIFETIME:
            return offer
        others = [result for result in concerned_by(name, self.wrong) if id(result) not in offer.covers]
        if len(others) + len(offer.covers) <= _MOST_GRADED:
            return offer
        found = {
            id(result)
            for result in others
            if all(word == result.dtype or self._needing(word)(result) for word in where)
            and is_explained(result, graded_anew(result, {**self._declared(result), name: offer.choice}))
        }
        return replace(offer, covers=offer.covers | found)

    def _needing(self, word: str) -> Callable[[Result], bool]:
        return lambda result: word in self._needs[result.case.id]

    def _is_covered(self, word: str, result: Result) -> bool:
        """Return whether a failure would not be one without a capability: its case, or what it misses, needs that.

        Where an argument is given that never passes, it is not of a capability with which others pass.
        """
        if self._needing(word)(result):
            return not self._passing_with[word] or self._never_pass.isdisjoint(self._needs[result.case.id])
        return not graded_without(result, word).is_wrong

    def _arguments_that_never_pass(self) -> frozenset[str]:
        """Return the arguments with which several cases fail, and none passes."""
        cases = {result.case.id for result in self.wrong}
        failing = Counter(word for case in cases for word in self._needs[case])
        return frozenset(
            word
            for word, count in failing.items()
            if word not in CAPABILITIES and count >= _SEVERAL and not self._passing_with[word]
        )

    def _stands_out(self, offer: _Offer) -> bool:
        """Return whether cases needing a capability fail often, and clearly more often than the others left."""
        if offer.word in _OF_OUTPUTS:
            return True
        if len(self.right) - offer.gives_up < _SPARED:
            return False
        covered = [result for result in self.wrong if id(result) in offer.covers]
        failing, others = len(covered), len(self.wrong) - len(covered)
        among = failing / max(1, failing + offer.gives_up)
        elsewhere = others / max(1, others + len(self.right) - offer.gives_up)
        if self._is_narrower_elsewhere(offer, covered):
            return False
        raised = sum(result.status == "error" for result in covered)
        enough = _SOMETIMES if raised > failing / 2 else _OFTEN
        return among >= enough and elsewhere <= _CLEARLY_LESS * among

    def _is_narrower_elsewhere(self, offer: _Offer, covered: Sequence[Result]) -> bool:
        """Return whether all failures need another word, too, which fewer passes need: the lack is not of this one."""
        if not offer.gives_up or not covered:
            return False
        needs = [self._needs[result.case.id] for result in covered]
        common = needs[0].intersection(*needs[1:]) - {offer.word}
        return any(self._passing_with[word] < offer.gives_up for word in common)

    def _hides(self, offer: _Offer) -> bool:
        """Return whether failures needing a capability are left whose results do not come of its absence.

        Where many raise, broadcasting carries others through, to another shape.
        """
        covered = [result for result in self.wrong if id(result) in offer.covers]
        left = [result for result in covered if not self._comes_of_lack(result)]
        raised = sum(result.status == "error" for result in covered)
        return len(left) > _OTHERWISE * len(covered) and (
            raised < _OFTEN * len(covered) or any(result.verdict.check != "shape" for result in left)
        )

    def _comes_of_lack(self, result: Result) -> bool:
        if id(result) not in self._of_lack:
            self._of_lack[id(result)] = comes_of_lack(result, self._needs[result.case.id])
        return self._of_lack[id(result)]

    def _convention_offers(self, wrong: Sequence[Result]) -> list[_Offer]:
        """Return choices of conventions under which failures would be none, and passes would still pass."""
        taken = {offer.word.partition("@")[0] for offer in self.taken}
        return [
            offer
            for name, convention in CONVENTIONS.items()
            if convention.settles in _TRIED and name not in taken
            for choice in convention.choices
            if (offer := self._convention_offer(name, choice, self._concerned(name, wrong))) is not None
        ]

    def _convention_offer(self, name: str, choice: str, wrong: Sequence[Result]) -> _Offer | None:
        """Return a choice as an offer, for all cases or for some; None where it would turn no failure."""
        if CONVENTIONS[name].settles is Settles.LIFETIME:
            departs = choice != CONVENTIONS[name].choices[0]
            return _Offer(name, choice, frozenset(map(id, wrong))) if wrong and departs else None

        wrong = [result for result in wrong if may_be_meant(name, choice, result)]

        def anew(result: Result) -> Result:
            return graded_anew(result, {**self._declared(result), name: choice})

        def is_none(result: Result) -> bool:
            return is_explained(result, anew(result))

        others = [result for result in wrong if result.run.conventions.get(name, choice) != choice]
        if CONVENTIONS[name].settles is Settles.INNER_PRECISION and not self._mostly_wrong(name):
            return None
        looked_at = spread_results(others, _MOST_GRADED)
        first, later = looked_at[:_TRIED_FIRST], looked_at[_TRIED_FIRST:]
        if not any(map(is_none, [*first, *later[-_TRIED_FIRST:]])):
            return None
        turned = [
            result
            for result, now in ((result, anew(result)) for result in looked_at)
            if is_explained(result, now) and self._expects_something_else(name, result, now)
        ]
        passing = [result for result in self._concerned(name, self.right) if result.run.conventions.get(name) != choice]
        broken = [result for result in spread_results(passing, _MOST_GRADED) if anew(result).is_wrong]
        for words, holds in self._qualified(others):
            for_these = frozenset(id(result) for result in turned if holds(result))
            if for_these and not any(map(holds, broken)):
                return _Offer(f"{name}{words}", choice, for_these)
        return None

    def _concerned(self, name: str, results: Sequence[Result]) -> list[Result]:
        """Return the results that a convention may turn: under another value of an attribute, any that has that."""
        found = concerned_by(name, results)
        if CONVENTIONS[name].settles is not Settles.RESULTS or not any(map(_settles_attribute, self.taken)):
            return found
        known = {*map(id, found)}
        others = [result for result in results if any(is_value_of(each, result) for each in self._declared(result))]
        return [*found, *(result for result in others if id(result) not in known)]

    def _mostly_wrong(self, name: str) -> bool:
        """Return whether most results of numbers are wrong: only then are they computed roughly themselves."""
        wrong, right = (
            sum(result.got is not None for result in finite_results(concerned_by(name, results)))
            for results in (self.wrong, self.right)
        )
        return wrong >= right

    def _expects_something_else(self, name: str, result: Result, now: Result) -> bool:
        """Return whether other outputs are expected now than under the declarations taken, without the convention."""
        if CONVENTIONS[name].settles not in (Settles.RESULTS, Settles.ATTRIBUTE) or result.got is None:
            return True
        taken = self._declared(result)
        before = (graded_anew(result, taken) if taken else result).run.expected
        expected = now.run.expected
        if not isinstance(before, Values) or not isinstance(expected, Values):
            return True
        return before.within.keys() != expected.within.keys() or any(
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
        resolved = resolve_conventions(chosen, result.case.operation, dtype=result.dtype, needed=needs)
        return {name: resolved[name] for key in chosen if (name := key.partition("@")[0]) in resolved}

    def _qualified(self, wrong: Sequence[Result]) -> Iterator[tuple[str, Callable[[Result], bool]]]:
        """Yield the cases for which a convention may be declared: all, those of one dtype, those of one capability."""
        yield "", lambda _: True
        for dtype in dict.fromkeys(result.dtype for result in wrong):
            yield f"@{dtype}", lambda result, dtype=dtype: result.dtype == dtype
        for word in CAPABILITIES:
            yield f"@{word}", self._needing(word)


def _settles_attribute(offer: _Offer) -> bool:
    return offer.choice is not None and CONVENTIONS[offer.word.partition("@")[0]].settles is Settles.ATTRIBUTE
