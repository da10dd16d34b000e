"""Offers: capabilities and conventions that could be declared, so that most failures of a whole run would be none.

Each is offered only where its own content explains what came, and where no narrower word does.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnspec.cases import Case
from attnspec.contract import CAPABILITIES, CONVENTIONS, OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import conventions_settling, resolve_conventions
from attnspec.diagnosis.attribute_values import is_value_of, may_be_meant
from attnspec.diagnosis.choosing import finite_results, spread_results
from attnspec.diagnosis.grading_anew import BY_CHECK, concerned_by, graded_anew, graded_without
from attnspec.diagnosis.offer_content import comes_of_lack, is_explained
from attnspec.diagnosis.undeclared import GRADED_ANEW
from attnspec.families.lookup import needed_capabilities
from attnspec.grading import Values
from attnspec.runner import Result

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

_WITHOUT_VALUE = "=None"
"""End of the word for an argument that is stated to be none, where something else is its default."""

_OF_OUTPUTS = frozenset(output.capability for operation in OPERATIONS.values() for output in operation.gives)
"""Capabilities to return an output: its absence shows in every result."""

_TRIED = (*GRADED_ANEW, *BY_CHECK)
_OF_SOME_CASES = (Settles.RESULTS, Settles.REFUSALS, *BY_CHECK, Settles.ATTRIBUTE)


NO_ELEMENTS = "no_elements"
"""What a failure with an array of size 0 is about."""


@dataclass(frozen=True)
class Declarations:
    """Capabilities lacking (`without`) and conventions, some for one dtype or capability, that could be declared.

    Of the `of` failures, `fewer` would be none: they would pass or not be graded. `right` results pass now. `left`
    says what the failures that stay are about, conventions or `NO_ELEMENTS`; None where some are about none of these.
    """

    without: tuple[str, ...]
    conventions: Mapping[str, str]
    fewer: int
    of: int
    right: int = 0
    left: tuple[str, ...] | None = None


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
        right=sum(result.status == "pass" for result in results),
        left=_edges(search.wrong),
    )


def _edges(failing: Sequence[Result]) -> tuple[str, ...] | None:
    """Return the edges that failures are about, each once; None where one may be wrong in its plain numbers."""
    edges: dict[str, None] = {}
    concerned = {name: {*map(id, concerned_by(name, failing))} for name in conventions_settling(Settles.RESULTS)}
    for result in failing:
        is_empty = any(array.size == 0 for array in result.case.inputs.values())
        about = [name for name, results in concerned.items() if id(result) in results]
        if not is_empty and not about:
            return None
        edges |= dict.fromkeys([NO_ELEMENTS] if is_empty else about[:1])
    return tuple(edges)


class _Search:
    """Search over all results of a run: failures left, passes, and offers taken so far."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.wrong = [result for result in results if result.is_wrong]
        self.right = [result for result in results if result.establishes]
        self._failed = tuple(self.wrong)
        self.taken: list[_Offer] = []
        self._offers: list[_Offer] | None = None
        cases = {result.case.id: result.case for result in results}
        self._needs = {case_id: _words_needed(case) for case_id, case in cases.items()}
        self._stated = Counter(word for result in results for word in self._needs[result.case.id])
        self._look_at_capabilities()
        self._of_lack: dict[int, bool] = {}

    def _look_at_capabilities(self) -> None:
        """Find what each capability would cover of all failures, and give up of the passes."""
        self._passing_with = Counter(word for result in self.right for word in self._needs[result.case.id])
        failing = Counter(word for case in {result.case.id for result in self.wrong} for word in self._needs[case])
        self._never_pass = frozenset(
            word
            for word, count in failing.items()
            if word not in CAPABILITIES and count >= _SEVERAL and not self._passing_with[word]
        )
        without_value = [word for word in self._stated if word.endswith(_WITHOUT_VALUE)]
        self._capabilities = [
            _Offer(word, None, covers, self._passing_with[word])
            for word in (*CAPABILITIES, *without_value)
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
        # Of offers that do equally much, the one that says least.
        best = self._with_all_failures(max(standing, key=lambda entry: (entry[0], -self._stated[entry[1].word]))[1])
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
        if offer.choice is None or CONVENTIONS[name].settles in BY_CHECK:
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

        Where an argument is given with which several cases fail and none passes, it is of that argument, and not of a
        capability with which others pass.
        """
        if self._needing(word)(result):
            return not self._passing_with[word] or self._never_pass.isdisjoint(self._needs[result.case.id])
        return not graded_without(result, word).is_wrong

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
        if offer.gives_up and covered:
            # Where all of them need another word, too, which fewer passes need, the lack is not of this one.
            needs = [self._needs[result.case.id] for result in covered]
            common = needs[0].intersection(*needs[1:]) - {offer.word}
            if any(self._passing_with[word] < offer.gives_up for word in common):
                return False
        raised = sum(result.status == "error" for result in covered)
        enough = _SOMETIMES if raised > failing / 2 else _OFTEN
        return among >= enough and elsewhere <= _CLEARLY_LESS * among

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
        if CONVENTIONS[name].settles in BY_CHECK:
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


def _words_needed(case: Case) -> frozenset[str]:
    """Return the capabilities and arguments that a case needs, and its arguments that are stated to be none."""
    defaults = OPERATIONS[case.operation].defaults
    none = (name for name, value in case.attributes.items() if value is None and defaults.get(name) is not None)
    return needed_capabilities(case).union(f"{name}{_WITHOUT_VALUE}" for name in none)


def _settles_attribute(offer: _Offer) -> bool:
    return offer.choice is not None and CONVENTIONS[offer.word.partition("@")[0]].settles is Settles.ATTRIBUTE
