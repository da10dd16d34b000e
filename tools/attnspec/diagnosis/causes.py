"""Causes of failures kept apart: the likeliest one first, then the failures that it does not explain.

A cause is a mistake that gives the very numbers of some failures, or a convention that nobody declared. Where two of
them meet in one run, neither gives its numbers alone; such failures are put down to both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from attnspec.diagnosis.choosing import finite_results, is_finite, one_for_each_case, spread_results
from attnspec.diagnosis.evidence import Evidence
from attnspec.diagnosis.mistake_outputs import mistake_outputs
from attnspec.diagnosis.ranking import Candidate, Observed, rank_candidates, tied
from attnspec.diagnosis.suspects import alike_suspects
from attnspec.diagnosis.undeclared import GradedAnew, Undeclared, undeclared_convention
from attnspec.runner import Result
from attnspec_mistakes import Mistake, rarer_mistakes
from attnspec_mistakes.kill_matrix import was_tried
from attnspec_mistakes.two_at_once import both

_MOST_CAUSES = 3
_SCREENED = 48
"""Mistakes whose numbers are looked at: one that gives the very numbers fails nearly the same cases."""

_FEWEST_BY_NUMBERS = 2
"""Cases of which a sure cause gives the numbers: in one case alone, many mistakes look the same."""

_MISSED_AT_MOST = 0.02
"""Share of its failures that a sure cause may leave unexplained where it acts: two programs never err quite alike."""

_MOST_AGAINST = 0.1
"""Share of evidence against a cause that outweighs it: it only resembles the mistake that was made."""

_ELSEWHERE = 0.1
"""Failures that a sure cause may leave to others, for each one that it explains: a second, smaller trouble."""

_MOST_COUNTED = 3000

_OF_TWO = 4
"""Failures that two mistakes together have to give before they are compared with more."""

_PAIRED = 8
"""Mistakes that are tried together with each other one: those that fail most nearly the same cases."""


@dataclass(frozen=True)
class Cause:
    """Cause of some failures of an operation: mistakes or an undeclared convention, or both where they meet.

    Each of `groups` holds mistakes that break one clause together; these results do not distinguish the groups, and
    there are none where a convention alone explains the failures. `second` is made beside the first, where only both
    together give the numbers. `raised` of those explained gave an error where the first raises one, too. `is_sure`:
    nothing speaks against it.
    """

    groups: tuple[tuple[Candidate, ...], ...]
    undeclared: Undeclared | None
    explained: tuple[Result, ...]
    is_sure: bool
    second: Mistake | None = None
    raised: int = 0


@dataclass(frozen=True)
class Explained:
    """Failures of an operation with their causes, in the order found, and the rest that no cause explains.

    Once a cause is known, the rest leaves out cases with NaN inputs: there, the result depends on more than one
    mistake. `candidates` are the mistakes weighed for the rest, or at first, the likeliest first.
    """

    causes: tuple[Cause, ...]
    rest: tuple[Result, ...]
    candidates: tuple[Candidate, ...]


def explained_failures(
    mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result], errors: Sequence[Result] = ()
) -> Explained:
    """Return the causes of failures one by one, from results with wrong numbers, with right ones, and with errors."""
    observed = Observed()
    remaining: Sequence[Result] = failing[:_MOST_COUNTED]
    causes: list[Cause] = []
    candidates: list[Candidate] = []
    while remaining and len(causes) < _MOST_CAUSES:
        clear = _untouched(remaining, causes, observed) or remaining
        candidates = rank_candidates(_likely(mistakes, clear, passing), clear, passing, observed)
        anew = undeclared_convention(remaining, passing)
        cause = _cause(candidates, anew, remaining, observed)
        if cause is None:
            break
        causes.append(cause)
        left = remaining if anew is None or cause.undeclared is None else anew.still
        reproduced = {id(result) for result in cause.explained}
        # That NaN among the inputs takes other ways is nothing to go after while a mistake is known.
        remaining = [result for result in left if id(result) not in reproduced and is_finite(result)]
    settled = _settled([_with_errors(cause, errors) for cause in causes], remaining, candidates, observed)
    # Where outputs without numbers alone failed, there is nothing that mistakes could be compared with.
    if not failing or (settled.causes and settled.causes[0].is_sure):
        return settled
    found = _in_another_way(mistakes, failing, passing, observed)
    if found is None and not settled.causes:
        found = _two_at_once(_likely(mistakes, failing, passing), failing, passing, observed)
    if found is None or (settled.causes and len(found.explained) <= len(settled.causes[0].explained)):
        return settled
    given = {id(result) for result in found.explained}
    left = [result for result in failing[:_MOST_COUNTED] if id(result) not in given and is_finite(result)]
    otherwise = _settled([_with_errors(found, errors)], left, candidates, observed)
    return otherwise if otherwise.causes else settled


def _untouched(results: Sequence[Result], causes: Sequence[Cause], observed: Observed) -> list[Result]:
    """Return the results in which no known mistake acts: only there can others show."""
    known = [cause.groups[0][0].mistake for cause in causes if cause.groups]
    return [
        entry.result
        for entry in observed.all(results)
        if not any(entry.agreement(mistake, whole=False).acts for mistake in known)
    ]


def _likely(mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result]) -> list[Mistake]:
    """Return mistakes that fail much the same cases, most alike first, then those of which this is not known."""
    alike = [entry.mistake for entry in alike_suspects(mistakes, failing, passing)[:_SCREENED]]
    by_id = {mistake.id: mistake for mistake in mistakes}
    return [
        *(by_id[known] for known in alike if known is not None and was_tried(by_id[known])),
        *(mistake for mistake in mistakes if not was_tried(mistake)),
    ]


def _cause(
    candidates: Sequence[Candidate], anew: GradedAnew | None, remaining: Sequence[Result], observed: Observed
) -> Cause | None:
    """Return the mistakes that stand, the convention under which failures would pass, or both where they meet."""
    if not candidates or not candidates[0].stands:
        return None if anew is None else Cause((), anew.undeclared, anew.passes, is_sure=True)
    mistake = candidates[0].mistake
    reproduced = [entry.result for entry in observed.all(remaining) if entry.agreement(mistake, whole=False).matches]
    of_clause: dict[str, list[Candidate]] = {}
    for candidate in tied(candidates):
        of_clause.setdefault(candidate.mistake.clause, []).append(candidate)
    groups = tuple(map(tuple, of_clause.values()))[:_MOST_CAUSES]
    if anew is None:
        return Cause(groups, None, tuple(reproduced), is_sure=True)
    shared = {id(result) for result in reproduced} & {id(result) for result in anew.passes}
    if 2 * len(shared) >= len(reproduced):
        whole = {id(result): result for result in (*reproduced, *anew.passes)}
        return Cause(groups, anew.undeclared, tuple(whole.values()), is_sure=True)
    if len(anew.passes) > len(reproduced):
        return Cause((), anew.undeclared, anew.passes, is_sure=True)
    return Cause(groups, None, tuple(reproduced), is_sure=True)


def _in_another_way(
    mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result], observed: Observed
) -> Cause | None:
    """Return a mistake that cases are not made to notice: a rarer one, or one in another way, as in other tiles."""
    exercised = {clause for result in (*failing, *passing) for clause in result.case.clauses}
    rarer = [
        each for each in rarer_mistakes() if each.operation == failing[0].case.operation and each.clause in exercised
    ]
    ways = [*rarer, *(way for mistake in (*mistakes, *rarer) for way in mistake.in_other_ways())]
    ranked = rank_candidates(ways, failing, passing, observed)
    return _cause(ranked, None, failing[:_MOST_COUNTED], observed)


def _two_at_once(
    likely: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result], observed: Observed
) -> Cause | None:
    """Return two mistakes that give the numbers together, where neither does alone; None where no two do."""
    seen = observed.all(spread_results(one_for_each_case(finite_results(failing)), _OF_TWO))
    if len(seen) < _OF_TWO:
        return None
    given: dict[str, tuple[Mistake, Mistake]] = {}
    # Of any two, the one that hides the other fails most nearly the same cases.
    for first, second in combinations(likely, 2):
        together = None if first.clause == second.clause or first not in likely[:_PAIRED] else both(first, second)
        if together is not None and _gives_nearly_all(together, seen):
            given[together.id] = (together, second)
    ranked = rank_candidates([together for together, _ in given.values()], failing, passing, observed)
    if not ranked or not ranked[0].stands:
        return None
    together, second = given[ranked[0].mistake.id]
    reproduced = [entry.result for entry in observed.all(failing) if entry.agreement(together, whole=False).matches]
    return Cause(((ranked[0],),), None, tuple(reproduced), is_sure=True, second=second)


def _gives_nearly_all(mistake: Mistake, seen: Sequence[Evidence]) -> bool:
    """Return whether a mistake gives the numbers of all failures looked at but one."""
    missed = 0
    for entry in seen:
        missed += not entry.agreement(mistake, whole=False).matches
        if missed > 1:
            return False
    return True


def _with_errors(cause: Cause, errors: Sequence[Result]) -> Cause:
    """Add the errors that come where the mistake of a cause raises one, too: its shapes do not fit there."""
    if not cause.groups or not errors:
        return cause
    mistake = cause.groups[0][0].mistake
    raised = [
        result
        for result in errors[:_MOST_COUNTED]
        if result.status == "error" and mistake_outputs(mistake, result.run) is None
    ]
    return replace(cause, explained=(*cause.explained, *raised), raised=len(raised))


def _settled(
    causes: Sequence[Cause],
    remaining: Sequence[Result],
    candidates: Sequence[Candidate],
    observed: Observed,
) -> Explained:
    """Put failures in which several causes meet down to them, and mark the causes that nothing speaks against."""
    known = list(causes)
    while True:
        freed = [result for cause in causes if cause not in known for result in cause.explained]
        rest, against, elsewhere = _counterevidence(known, [*remaining, *freed], observed)
        refuted = [
            cause
            for cause in known
            if cause.groups and against[cause.groups[0][0].mistake.id] > _MOST_AGAINST * len(cause.explained)
        ]
        if not refuted:
            break
        known.remove(max(refuted, key=lambda cause: against[cause.groups[0][0].mistake.id] / len(cause.explained)))
        candidates = [*(cause.groups[0][0] for cause in causes if cause not in known and cause.groups), *candidates]
    settled = tuple(_with_certainty(cause, against, elsewhere) for cause in known)
    weighed = {candidate.mistake.id: candidate for candidate in reversed(candidates)}
    return Explained(settled, tuple(rest), tuple(reversed(weighed.values())))


def _counterevidence(
    causes: Sequence[Cause], remaining: Sequence[Result], observed: Observed
) -> tuple[list[Result], Mapping[str, int], Mapping[str, int]]:
    """Return the failures without a cause, and by mistake how many speak against it, or are wrong where it is right.

    Failures in which several causes meet are put down to them.
    """
    first = [cause.groups[0][0].mistake for cause in causes if cause.groups]
    against = dict.fromkeys((mistake.id for mistake in first), 0)
    elsewhere = dict.fromkeys(against, 0)
    rest: list[Result] = []
    for entry in observed.all(remaining):
        agreements = {mistake.id: entry.agreement(mistake, whole=False) for mistake in first}
        acting = [mistake for mistake, agreement in agreements.items() if agreement.acts]
        # Where a mistake acts in a run and NaN on one side hides all else, nothing more can be seen.
        if len(acting) > 1 or not all(agreements[mistake].decided for mistake in acting):
            continue
        rest.append(entry.result)
        for mistake, agreement in agreements.items():
            if agreement.decided:
                (against if agreement.acts else elsewhere)[mistake] += 1
    return rest, against, elsewhere


def _with_certainty(cause: Cause, against: Mapping[str, int], elsewhere: Mapping[str, int]) -> Cause:
    if not cause.groups:
        return cause
    first, explains = cause.groups[0][0], len(cause.explained)
    mistake = first.mistake.id
    is_sure = (
        first.by_numbers >= _FEWEST_BY_NUMBERS
        and against[mistake] <= _MISSED_AT_MOST * explains
        and elsewhere[mistake] <= _ELSEWHERE * explains
    )
    return replace(cause, is_sure=is_sure)
