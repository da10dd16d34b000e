"""From the results of a run to a diagnosis: a known mistake, or the facts.

A mistake is named when it computes the very outputs that came back, on the failing cases, and agrees with what passed
on the passing ones. Failures that no known mistake reproduces stay unknown: a wrong name would be worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.diagnosis.attended_keys import attended_sentences
from attnspec.diagnosis.choosing import is_finite
from attnspec.diagnosis.facts import failing_facts
from attnspec.diagnosis.ranking import MISSED_AT_MOST, Candidate, not_reproduced, rank, speak_against, tied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.runner import Result
    from attnspec_mistakes import Mistake

UNKNOWN = "unknown"
_MOST_TIES = 3
_WORTH_TELLING = 0.2


@dataclass(frozen=True)
class Diagnosis:
    """What explains the failures of one operation.

    Attributes
    ----------
    operation
        The operation.
    mistake
        Id of the mistake, or ``unknown``.
    clause
        The clause that it violates; None when unknown.
    erratum
        The erratum of a source document that made the same mistake, or None.
    sentence, remedy
        What went wrong and what to do, in plain words; empty when unknown.
    engineer
        What went wrong, to a kernel engineer; empty when unknown.
    explains, of
        How many of the failing (case, dtype) it reproduces, or nothing known does; and how many were looked at.
    first_case
        Id of the first failing case.
    facts
        What the failures have in common, a sentence each, the most telling first.
    attended
        Which keys queries attended and should have attended, a sentence each.
    """

    operation: str
    mistake: str
    clause: str | None
    erratum: str | None
    sentence: str
    remedy: str
    explains: int
    of: int
    first_case: str
    engineer: str = ""
    facts: tuple[str, ...] = ()
    attended: tuple[str, ...] = ()


def diagnose(results: Sequence[Result], without: frozenset[str] = frozenset()) -> tuple[Diagnosis, ...]:
    """Return a diagnosis for each operation that failed on values or shapes, in the order of the results.

    Several mistakes that explain the same failures equally well are all given, the one whose clause the failing cases
    exercise most first, so that none is named wrongly.

    Parameters
    ----------
    results
        Every result of the run.
    without
        Ids of mistakes that are left out of the catalogue.
    """
    from attnspec_mistakes import mistakes_of

    failing: dict[str, list[Result]] = {}
    passing: dict[str, list[Result]] = {}
    for result in results:
        if result.got is None or result.case.properties is not None:
            continue
        if result.status == "fail" and result.verdict.check in ("values", "shape"):
            failing.setdefault(result.case.operation, []).append(result)
        elif result.status == "pass":
            passing.setdefault(result.case.operation, []).append(result)
    found: list[Diagnosis] = []
    for operation, wrong in failing.items():
        mistakes = [mistake for mistake in mistakes_of(operation) if mistake.id not in without]
        found.extend(_diagnose_operation(wrong, passing.get(operation, []), mistakes))
    return tuple(found)


def _diagnose_operation(
    failing: Sequence[Result], passing: Sequence[Result], mistakes: Sequence[Mistake]
) -> list[Diagnosis]:
    candidates = rank(mistakes, failing, passing)
    if not candidates or not candidates[0].explains:
        return [_unexplained(failing, passing, candidates)]
    groups = list(_by_clause(tied(candidates)).values())[:_MOST_TIES]
    first = groups[0][0].mistake
    looked_at, missed = not_reproduced(first, failing)
    if len(speak_against(first, missed)) > MISSED_AT_MOST * looked_at:
        return [_unexplained(failing, passing, candidates)]
    attended = attended_sentences(failing)
    named = [_named(failing, group, looked_at - len(missed), looked_at, attended) for group in groups]
    # That NaN among the inputs takes other ways is nothing to go after while a mistake is known.
    more = [result for result in missed if is_finite(result)]
    return [*named, _unknown(more, looked_at, failing_facts(more, passing))] if more else named


def _unexplained(failing: Sequence[Result], passing: Sequence[Result], candidates: Sequence[Candidate]) -> Diagnosis:
    """Return that no mistake accounts for the failures, with the mistakes that give some of them, and the facts."""
    return _unknown(failing, len(failing), (*_partial_explanations(candidates), *failing_facts(failing, passing)))


def _by_clause(candidates: Sequence[Candidate]) -> Mapping[str, list[Candidate]]:
    """Group mistakes that nothing tells apart by the clause that they break."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.mistake.clause, []).append(candidate)
    return groups


def _named(
    failing: Sequence[Result],
    same: Sequence[Candidate],
    explains: int,
    of: int,
    attended: tuple[str, ...],
) -> Diagnosis:
    """Name the first of the mistakes that break one clause and that these results do not tell apart."""
    mistake = same[0].mistake
    others = ", ".join(candidate.mistake.id for candidate in same[1:])
    facts = (f"These results do not tell it from {others}, which breaks the same clause.",) if others else ()
    return Diagnosis(
        operation=mistake.operation,
        mistake=mistake.id,
        clause=mistake.clause,
        erratum=mistake.erratum,
        sentence=mistake.sentence,
        remedy=mistake.remedy,
        explains=explains,
        of=of,
        first_case=failing[0].case.id,
        engineer=mistake.engineer,
        facts=facts,
        attended=attended,
    )


def _unknown(failing: Sequence[Result], of: int, facts: tuple[str, ...]) -> Diagnosis:
    return Diagnosis(
        operation=failing[0].case.operation,
        mistake=UNKNOWN,
        clause=None,
        erratum=None,
        sentence="",
        remedy="",
        explains=len(failing),
        of=of,
        first_case=failing[0].case.id,
        facts=facts,
        attended=attended_sentences(failing),
    )


def _partial_explanations(candidates: Sequence[Candidate]) -> list[str]:
    """Say which mistakes give some of the numbers, though none accounts for all."""
    said: list[str] = []
    for candidate in candidates[:_MOST_TIES]:
        if candidate.reproduced < _WORTH_TELLING * candidate.failing:
            continue
        share = f"{candidate.reproduced} of the {candidate.failing} failures looked at"
        but = ", but would break cases that pass" if candidate.contradicted else ""
        mistake = candidate.mistake
        said.append(f"{mistake.sentence} (alone, this mistake, {mistake.id}, gives the numbers of {share}{but})")
    return said
