"""Diagnosis of a run: a known mistake, or the clauses that are suspected, and the facts.

A mistake is named when it computes the very numbers that came back wrong, and agrees with the passes. The failures that
it leaves over are diagnosed again. Failures that no known mistake reproduces have no name, for a wrong one would be
worse than none; the clauses that they point at are reported, with how sure that is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from attnspec.contract.layout import clause_in, layout_name
from attnspec.diagnosis.causes import Cause, Explained, explained_failures
from attnspec.diagnosis.facts import attended_sentences, failing_facts
from attnspec.diagnosis.ranking import FEWEST_CASES, WORTH_TELLING, Candidate
from attnspec.diagnosis.suspects import (
    SPOILING,
    Suspect,
    alike_suspects,
    broken_by_check,
    not_excluded,
    rank_suspects,
    suspects_by_law,
    suspects_by_output,
)
from attnspec.diagnosis.undeclared import Undeclared, undeclared_convention
from attnspec.runner import Key, Result
from attnspec.runner.result import Law, depends_on_earlier_calls, shows_earlier_calls
from attnspec_mistakes import Mistake

UNKNOWN = "unknown"

Certainty = Literal["it is", "most likely", "one of these", "it lies in"]
"""Certainty of a diagnosis's clauses: of one given by a check or by a known mistake's very numbers; of a mistake in
some doubt, or the first suspect; of the first two or three; of none that could be distinguished from others."""

_MOST_CANDIDATES = 5

_NEARLY_ALL = 0.95
"""Share of the failures from which on a mistake that gives their very numbers is named, whatever the others point at:
two programs that make it do not err alike in rows without keys, or in numbers beyond their range."""

_OR_DECLARE = ", or declare the convention "
"""Continuation of a remedy that a convention may replace."""

_SPOILS = 0.1
"""Share of wrong results from which on an edited input, or a result that is not kept, accounts for the others."""


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Diagnosis of failures of one operation: a mistake by id, or ``unknown`` with suspected clauses.

    `clause` is violated by the mistake or by the failed `check`, else None; `suspects` are those of which `certainty`
    speaks, then others considered. `explains` of `of` failing (case, dtype) are reproduced by it, or by nothing known.
    `sentence`, `remedy` and `engineer` (the same for a kernel engineer) are empty when unknown; `facts` and `attended`
    hold sentences.

    `same`: mistakes of the same clause that these results do not distinguish; `candidates`: those weighed, with
    evidence; `undeclared`: a convention under which the failures would pass. Failures that several explain stand in
    each.
    """

    operation: str
    mistake: str
    explains: int
    of: int
    failures: tuple[Key, ...]
    clause: str | None = None
    check: str | None = None
    erratum: str | None = None
    sentence: str = ""
    remedy: str = ""
    engineer: str = ""
    facts: tuple[str, ...] = ()
    attended: tuple[str, ...] = ()
    certainty: Certainty = "it is"
    suspects: tuple[Suspect, ...] = ()
    same: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    undeclared: Undeclared | None = None
    laws: tuple[Law, ...] = ()

    def __repr__(self) -> str:
        """Return a line with the cause and the number of failures; failures and candidates are not listed."""
        broken = self.clause or ", ".join(suspect.clause for suspect in self.suspects if suspect.is_reported)
        breaks = f" ({self.certainty}: {broken})" if broken else ""
        return f"Diagnosis({self.mistake}{breaks}, {self.explains} of {self.of} failures of {self.operation})"


def diagnose(
    results: Sequence[Result], without: frozenset[str] = frozenset(), laws: Sequence[Law] = ()
) -> tuple[Diagnosis, ...]:
    """Return a diagnosis for each operation that went wrong, in the order of the results, which are all those of a run.

    Mistakes that explain the same failures equally well are all given, the one whose clause the failing cases exercise
    most first, so that none is named wrongly. `without` holds ids of mistakes to leave out of the catalogue.
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
        layout = layout_name(of_operation[0].run.layout)
        mistakes = [
            replace(mistake, clause=clause_in(mistake.clause, layout))
            for mistake in mistakes_of(operation)
            if mistake.id not in without and mistake.is_made_in(layout)
        ]
        law = next((law for law in laws if law.operation == operation), None)
        graded = [*of_operation, *passing.get(operation, [])]
        whole = [result for result in results if result.case.operation == operation]
        unheard = _clauses_of(whole) - _clauses_of(graded)
        heard = [mistake for mistake in mistakes if mistake.clause not in unheard]
        found.extend(_diagnose_operation(of_operation, passing.get(operation, []), mistakes, heard, law))
    return tuple(found)


def _clauses_of(results: Sequence[Result]) -> frozenset[str]:
    """Return the clauses that the cases of results exercise."""
    return frozenset(clause for result in results for clause in result.case.clauses)


def _with_law(numbers: Sequence[Diagnosis], law: Law) -> list[Diagnosis]:
    """Attach a law to the mistake that breaks its clause, else to failures without a name."""
    first = min(numbers, key=lambda entry: (entry.clause not in law.clauses, entry.clause is not None))
    entry = replace(first, laws=(law,))
    if entry.clause is None:
        suspected = suspects_by_law(entry.suspects, law, entry.explains)
        entry = replace(entry, suspects=suspected, certainty=_certainty(suspected))
    return [entry if each is first else each for each in numbers]


def _certainty(suspected: Sequence[Suspect]) -> Certainty:
    reported = sum(suspect.is_reported for suspect in suspected)
    return "it lies in" if not reported else "most likely" if reported == 1 else "one of these"


def _diagnose_operation(
    wrong: Sequence[Result],
    passing: Sequence[Result],
    mistakes: Sequence[Mistake],
    heard: Sequence[Mistake],
    law: Law | None,
) -> list[Diagnosis]:
    """Return diagnoses from the numbers and from other checks; the one that accounts for more results first.

    Of the mistakes, those `heard` are about what is offered: they alone stand for clauses that are suspected.
    """
    accounted = {key for result in wrong for key in result.verdict.accounts_for}
    failing = [
        result
        for result in wrong
        if result.status == "fail"
        and result.verdict.check in ("values", "shape")
        and result.got is not None
        and result.key not in accounted
    ]
    by_check = broken_by_check(wrong)
    mistakes, heard = (not_excluded(each, by_check) for each in (mistakes, heard))
    others = [result for result in wrong if result.verdict.check is None]
    reported = [_of_check(clause, each, wrong) for clause, each in by_check.items()]
    numbers: list[Diagnosis] = []
    if failing:
        comparable = [result for result in passing if result.got is not None and result.case.properties is None]
        numbers = _diagnose_numbers(failing, others, comparable, passing, mistakes, heard)
    elif others:
        anew = undeclared_convention(others, passing)
        suspected = rank_suspects(alike_suspects(heard, others, passing), heard, others, passing)
        unknown = _unknown(others, len(others), failing_facts(others, passing), suspected)
        numbers = [replace(unknown, undeclared=None if anew is None else anew.undeclared)]
    if numbers and law is not None:
        numbers = _with_law(numbers, law)
    # Where inputs are edited or buffers handed out twice, numbers go wrong after it, unless a mistake gives them.
    is_sure = bool(numbers) and numbers[0].mistake != UNKNOWN and numbers[0].certainty == "it is"
    spoilt = [
        entry
        for entry in reported
        if not is_sure and (entry.clause or "").endswith(SPOILING) and _spoils(by_check[entry.clause or ""], wrong)
    ]
    shown = (clause for clause, broken in by_check.items() if any(map(shows_earlier_calls, broken)))
    of_calls = None if is_sure else next(shown, None)
    if law is not None and law.is_found and depends_on_earlier_calls(law.clauses[0]):
        of_calls = law.clauses[0]
    if of_calls is not None and numbers:
        numbers = _of_earlier_calls(numbers, of_calls)
    return [*spoilt, *numbers, *(entry for entry in reported if entry not in spoilt)]


def _of_check(clause: str, broken: Sequence[Result], wrong: Sequence[Result]) -> Diagnosis:
    """Return the diagnosis of results whose check failed, and of those for which these account."""
    accounted = {key for result in broken for key in result.verdict.accounts_for}
    others = [result for result in wrong if result.key in accounted]
    return replace(_bare_diagnosis([*broken, *others], len(wrong)), clause=clause, check=broken[0].verdict.check)


def _spoils(broken: Sequence[Result], wrong: Sequence[Result]) -> bool:
    """Return whether a breach seen in some results accounts for wrong numbers in others."""
    return any(map(shows_earlier_calls, broken)) or len(broken) >= _SPOILS * len(wrong)


def _of_earlier_calls(numbers: Sequence[Diagnosis], clause: str) -> list[Diagnosis]:
    """Return diagnoses of numbers that depend on earlier calls as one: what they look like says little."""
    first = numbers[0]
    failures = tuple(dict.fromkeys(key for entry in numbers for key in entry.failures))
    others = [suspect for suspect in first.suspects if suspect.clause != clause]
    suspects = (
        Suspect(clause, 1.0, None, shared=len(failures), failing=len(failures), others=0, is_reported=True),
        *(replace(suspect, is_reported=False) for suspect in others),
    )
    unnamed = Diagnosis(first.operation, UNKNOWN, len(failures), first.of, failures)
    return [
        replace(
            unnamed,
            facts=first.facts,
            attended=first.attended,
            certainty="most likely",
            suspects=suspects,
            laws=tuple(law for entry in numbers for law in entry.laws),
        )
    ]


def _diagnose_numbers(
    failing: Sequence[Result],
    others: Sequence[Result],
    comparable: Sequence[Result],
    passing: Sequence[Result],
    mistakes: Sequence[Mistake],
    heard: Sequence[Mistake],
) -> list[Diagnosis]:
    """Name the mistakes that give the numbers in `failing`; report the clauses that the rest points at.

    `others` ended in an error; `comparable` have right numbers; `passing` are all that passed.
    """
    graded = [result for result in failing if result.case.properties is None]
    found = explained_failures(mistakes, graded, comparable, others)
    of = len(graded) + max((cause.raised for cause in found.causes), default=0)
    rest = _rest(found, of, comparable, passing, heard)
    if not found.causes or not found.causes[0].is_sure:
        suspected = rank_suspects(alike_suspects(heard, [*failing, *others], passing), heard, failing, passing)
        suspected = suspects_by_output(suspected, failing)
        explains_nearly_all = bool(found.causes) and len(found.causes[0].explained) >= _NEARLY_ALL * of
        if not found.causes or (not explains_nearly_all and _is_doubtful(found.causes[0], rest, suspected)):
            unknown = _unknown(failing, len(failing), failing_facts(failing, comparable), suspected)
            first = [group[0] for cause in found.causes for group in cause.groups]
            return [replace(unknown, candidates=_worth_telling([*first, *found.candidates]))]
    reported = [entry for cause in found.causes for entry in _of_cause(cause, of, comparable, heard)]
    known = {entry.clause for entry in reported}
    if rest is not None and not (rest.suspects and rest.suspects[0].is_reported and rest.suspects[0].clause in known):
        reported.append(rest)
    return sorted(reported, key=lambda entry: -entry.explains)


def _rest(
    found: Explained,
    of: int,
    comparable: Sequence[Result],
    passing: Sequence[Result],
    mistakes: Sequence[Mistake],
) -> Diagnosis | None:
    """Return the diagnosis of failures that no cause explains; None where there are none, or no cause at all."""
    if not found.causes or not found.rest:
        return None
    suspected = rank_suspects(alike_suspects(mistakes, found.rest, passing), mistakes, found.rest, passing)
    rest = _unknown(found.rest, of, failing_facts(found.rest, comparable), suspected)
    return replace(rest, candidates=_worth_telling(found.candidates))


def _is_doubtful(cause: Cause, rest: Diagnosis | None, suspected: Sequence[Suspect]) -> bool:
    """Return whether a mistake only resembles the one that was made.

    The failures left over point at its own clause, or all failures together point at another one.
    """
    clauses = {group[0].mistake.clause for group in cause.groups}
    reported = [entry.clause for entry in suspected if entry.is_reported]
    left = [entry.clause for entry in (rest.suspects if rest is not None else ()) if entry.is_reported]
    return bool(clauses) and (bool(clauses.intersection(left[:1])) or (bool(reported) and reported[0] not in clauses))


def _of_cause(cause: Cause, of: int, comparable: Sequence[Result], mistakes: Sequence[Mistake]) -> list[Diagnosis]:
    """Return a diagnosis for each clause that a cause may break."""
    if cause.groups:
        attended = attended_sentences(cause.explained)
        return [_named(cause, group, of, attended) for group in cause.groups]
    assert cause.undeclared is not None
    suspected: tuple[Suspect, ...] = ()
    if len({result.case.id for result in (*cause.explained, *comparable)}) >= FEWEST_CASES:
        # The clause that holds while the convention is undeclared, where a mistake of the catalogue names that.
        advice, cases = f"{_OR_DECLARE}{cause.undeclared.convention}=", len({each.case.id for each in cause.explained})
        declaring = [mistake for mistake in mistakes if advice in mistake.remedy][:1]
        suspected = tuple(
            Suspect(mistake.clause, 1.0, mistake.id, cases, cases, 0, is_reported=True) for mistake in declaring
        )
    if not suspected:
        alike = alike_suspects(mistakes, cause.explained, comparable)
        suspected = rank_suspects(alike, mistakes, cause.explained, comparable)
    facts = failing_facts(cause.explained, comparable)
    return [replace(_unknown(cause.explained, of, facts, suspected), undeclared=cause.undeclared)]


def _remedy(mistake: Mistake, cause: Cause) -> str:
    """Return the remedy without advice to declare a convention that is declared, or has a sentence of its own."""
    said = {} if cause.undeclared is None else {cause.undeclared.convention: cause.undeclared.choice}
    for name, choice in (*cause.explained[0].run.conventions.items(), *said.items()):
        if mistake.remedy.endswith(f"{_OR_DECLARE}{name}={choice}."):
            return f"{mistake.remedy.partition(_OR_DECLARE)[0]}."
    return mistake.remedy


def _worth_telling(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    likely = {entry.mistake.id: entry for entry in candidates if entry.reproduced >= WORTH_TELLING * entry.failing}
    return tuple(likely.values())[:_MOST_CANDIDATES]


def _named(cause: Cause, group: Sequence[Candidate], of: int, attended: tuple[str, ...]) -> Diagnosis:
    """Name the first of the mistakes that break one clause and that these results do not distinguish."""
    mistake = group[0].mistake if cause.second is None else _of_two(group[0].mistake, cause.second)
    return replace(
        _bare_diagnosis(cause.explained, of),
        mistake=mistake.listed_as,
        clause=mistake.clause,
        erratum=mistake.erratum,
        sentence=mistake.sentence,
        remedy=_remedy(mistake, cause),
        engineer=mistake.engineer,
        attended=attended,
        certainty="one of these" if len(cause.groups) > 1 else "it is" if cause.is_sure else "most likely",
        same=tuple(
            dict.fromkeys(each.mistake.listed_as for each in group if each.mistake.listed_as != mistake.listed_as)
        ),
        candidates=tuple(group),
        undeclared=cause.undeclared,
    )


def _of_two(first: Mistake, second: Mistake) -> Mistake:
    """Return the first of two mistakes that are made at once, with what is said of both."""
    return replace(
        first,
        sentence=f"Two mistakes at once. {first.sentence} {second.sentence}",
        engineer=f"{first.engineer} {second.engineer}",
        remedy=f"{first.remedy} {second.remedy}",
        erratum=first.erratum or second.erratum,
    )


def _unknown(failing: Sequence[Result], of: int, facts: tuple[str, ...], suspected: tuple[Suspect, ...]) -> Diagnosis:
    return replace(
        _bare_diagnosis(failing, of),
        facts=facts,
        attended=attended_sentences(failing),
        certainty=_certainty(suspected),
        suspects=suspected,
    )


def _bare_diagnosis(results: Sequence[Result], of: int) -> Diagnosis:
    failures = tuple(result.key for result in results)
    return Diagnosis(results[0].case.operation, UNKNOWN, len(results), of, failures)
