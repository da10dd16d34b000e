"""From the results of a run to a diagnosis: a known mistake, or the clauses that are suspected, and the facts.

A mistake is named when it computes the very outputs that came back, on the failing cases, and agrees with what passed
on the passing ones. Failures that no known mistake reproduces have no name, for a wrong one would be worse than none;
the clauses that they point at are told, with how sure that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from attnspec.diagnosis.attended_keys import attended_sentences
from attnspec.diagnosis.by_check import SPOILING, broken_by_check, broken_by_layout
from attnspec.diagnosis.choosing import is_finite
from attnspec.diagnosis.facts import failing_facts
from attnspec.diagnosis.measured_laws import suspects_by_law
from attnspec.diagnosis.ranking import MISSED_AT_MOST, Candidate, not_reproduced, rank, speak_against, tied
from attnspec.diagnosis.suspects import Suspect, alike_by_cases, suspects
from attnspec_mistakes.noticed import was_tried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.probing import Law
    from attnspec.runner import Result
    from attnspec_mistakes import Mistake

UNKNOWN = "unknown"

Certainty = Literal["it is", "most likely", "one of these", "it lies in"]
"""How sure a diagnosis is of the clauses that it tells: of one that a check or a known mistake's very numbers give; of
the first suspect; of the first two or three; of none that could be told from others."""

_MOST_TIES = 3
_WORTH_TELLING = 0.2
_SCREENED = 48
"""Mistakes whose numbers are looked at: one that gives the very numbers fails nearly the same cases."""
_SPOILS = 0.1
"""The share of wrong results from which on an edited input, or a result that is not kept, accounts for the others."""


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
        The clause that is violated, where that is certain: by the mistake, or by the check that failed; else None.
    certainty
        How sure it is of that clause, or of the suspects.
    suspects
        The clauses that failures without a name point at, the likeliest first; all that the certainty speaks of, then
        others that were thought of.
    laws
        What probes measured of the operation.
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
    certainty: Certainty = "it is"
    suspects: tuple[Suspect, ...] = ()
    laws: tuple[Law, ...] = ()


def diagnose(
    results: Sequence[Result], without: frozenset[str] = frozenset(), laws: Sequence[Law] = ()
) -> tuple[Diagnosis, ...]:
    """Return a diagnosis for each operation that went wrong, in the order of the results.

    Several mistakes that explain the same failures equally well are all given, the one whose clause the failing cases
    exercise most first, so that none is named wrongly.

    Parameters
    ----------
    results
        Every result of the run.
    without
        Ids of mistakes that are left out of the catalogue.
    laws
        What probes measured, of every operation.
    """
    from attnspec_mistakes import mistakes_of

    wrong: dict[str, list[Result]] = {}
    passing: dict[str, list[Result]] = {}
    for result in results:
        if result.is_wrong:
            wrong.setdefault(result.case.operation, []).append(result)
        elif result.status == "pass":
            passing.setdefault(result.case.operation, []).append(result)
    found: list[Diagnosis] = []
    for operation, of_operation in wrong.items():
        mistakes = [mistake for mistake in mistakes_of(operation) if mistake.id not in without]
        found.extend(_diagnose_operation(of_operation, passing.get(operation, []), mistakes))
    return tuple(_with_laws(entry, [law for law in laws if law.operation == entry.operation]) for entry in found)


def _with_laws(diagnosis: Diagnosis, laws: Sequence[Law]) -> Diagnosis:
    """Return a diagnosis with the laws that were measured of its operation."""
    diagnosis = replace(diagnosis, laws=tuple(laws))
    if not laws or diagnosis.clause is not None:
        return diagnosis
    suspected = suspects_by_law(diagnosis.suspects, laws[0], diagnosis.explains)
    return replace(diagnosis, suspects=suspected, certainty=_certainty(suspected))


def _certainty(suspected: Sequence[Suspect]) -> Certainty:
    told = sum(suspect.is_told for suspect in suspected)
    return "it lies in" if not told else "most likely" if told == 1 else "one of these"


def _diagnose_operation(
    wrong: Sequence[Result], passing: Sequence[Result], mistakes: Sequence[Mistake]
) -> list[Diagnosis]:
    """Return what the numbers say, and what other checks say; the one that accounts for more results first."""
    failing = [result for result in wrong if _is_of_numbers(result)]
    by_check = broken_by_check(wrong)
    others = [result for result in wrong if result.verdict.check is None]
    told = [_broken(clause, of_clause, len(wrong)) for clause, of_clause in by_check.items()]
    numbers: list[Diagnosis] = []
    if failing:
        comparable = [result for result in passing if result.got is not None and result.case.properties is None]
        alike = alike_by_cases(mistakes, [*failing, *others], passing)
        numbers = _diagnose_numbers(failing, comparable, mistakes, alike)
    elif others:
        suspected = suspects(alike_by_cases(mistakes, others, passing), mistakes, others, passing)
        numbers = [_unknown(others, len(others), failing_facts(others, passing), suspected)]
    # Where inputs are edited or buffers handed out twice, numbers go wrong after it, unless a mistake gives them.
    is_named = bool(numbers) and numbers[0].mistake != UNKNOWN
    spoilt = [entry for entry in told if not is_named and _spoils(entry, len(wrong))]
    return [*spoilt, *numbers, *(entry for entry in told if entry not in spoilt)]


def _is_of_numbers(result: Result) -> bool:
    return result.status == "fail" and result.verdict.check in ("values", "shape") and result.got is not None


def _spoils(entry: Diagnosis, wrong: int) -> bool:
    return (entry.clause or "").endswith(SPOILING) and entry.explains >= _SPOILS * wrong


def _diagnose_numbers(
    failing: Sequence[Result],
    comparable: Sequence[Result],
    mistakes: Sequence[Mistake],
    alike: Sequence[Suspect],
) -> list[Diagnosis]:
    """Name the mistakes that give these numbers; else say which clauses they point at.

    Parameters
    ----------
    failing, comparable
        Results whose numbers are wrong, and those whose numbers are right.
    mistakes
        Mistakes of the operation.
    alike
        Those that fail where something went wrong, the most alike first.
    """
    graded = [result for result in failing if result.case.properties is None]
    unlike = {mistake.id for mistake in mistakes if was_tried(mistake)} - {entry.mistake for entry in alike[:_SCREENED]}
    likely = [mistake for mistake in mistakes if mistake.id not in unlike]
    candidates = rank(likely, graded, comparable) if graded else []
    if not candidates or not candidates[0].explains:
        return [_unexplained(failing, comparable, candidates, suspects(alike, mistakes, failing, comparable))]
    groups = list(_by_clause(tied(candidates)).values())[:_MOST_TIES]
    first = groups[0][0].mistake
    looked_at, missed = not_reproduced(first, graded)
    if len(speak_against(first, missed)) > MISSED_AT_MOST * looked_at:
        return [_unexplained(failing, comparable, candidates, suspects(alike, mistakes, failing, comparable))]
    attended = attended_sentences(graded)
    named = [_named(graded, group, looked_at - len(missed), looked_at, attended) for group in groups]
    # That NaN among the inputs takes other ways is nothing to go after while a mistake is known.
    more = [result for result in missed if is_finite(result)]
    return [*named, _unknown(more, looked_at, failing_facts(more, comparable), ())] if more else named


def _broken(clause: str, results: Sequence[Result], of: int) -> Diagnosis:
    """Return that results break a clause by their check."""
    return Diagnosis(
        operation=results[0].case.operation,
        mistake=UNKNOWN,
        clause=clause,
        erratum=None,
        sentence="",
        remedy="",
        explains=len(results),
        of=of,
        first_case=results[0].case.id,
    )


def _unexplained(
    failing: Sequence[Result],
    passing: Sequence[Result],
    candidates: Sequence[Candidate],
    suspected: tuple[Suspect, ...],
) -> Diagnosis:
    """Return that no mistake accounts for the failures, with the suspects, and the facts."""
    facts = (*_partial_explanations(candidates), *failing_facts(failing, passing))
    return _unknown(failing, len(failing), facts, suspected)


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


def _unknown(failing: Sequence[Result], of: int, facts: tuple[str, ...], suspected: tuple[Suspect, ...]) -> Diagnosis:
    layout = broken_by_layout(failing)
    if layout is not None:
        others = (replace(entry, is_told=False) for entry in suspected if entry.clause != layout)
        suspected = (_of_layout(layout, failing), *others)
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
        certainty=_certainty(suspected),
        suspects=suspected,
    )


def _of_layout(clause: str, failing: Sequence[Result]) -> Suspect:
    cases = len({result.case.id for result in failing})
    return Suspect(clause, likeness=1.0, mistake=None, shared=cases, failing=cases, others=0, is_told=True)


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
