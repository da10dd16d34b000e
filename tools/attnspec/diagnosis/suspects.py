"""Suspected clauses of failures, whether or not a known mistake reproduces them.

Mistakes that break one rule are noticed by much the same cases, and in the same elements, whatever numbers they give.
So each mistake of the catalogue stands for its clause: a clause is suspected as much as the one among its mistakes that
the failures resemble most. It is suspected more where the failing cases are those that fail a wrong implementation of
somebody else, of which judges say that it breaks that clause.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from attnspec.contract import OPERATIONS
from attnspec.contract.layout import layouts_of_clause, operation_in
from attnspec.diagnosis.choosing import finite_results, one_for_each_case, spread_results
from attnspec.diagnosis.evidence import Evidence
from attnspec.runner import Result
from attnspec.runner.result import Law
from attnspec.specification import clauses
from attnspec_mistakes import Mistake
from attnspec_mistakes.kill_matrix import noticed_cases, tried_cases
from attnspec_mistakes.labelled_mistakes import judged_cases, judged_implementations

_EXAMINED = 16
"""Failures whose elements are compared; more add little."""

_COMPARED = 24
"""Mistakes whose elements are compared. In 253 blind ones, the right clause was among those of the first 24 in all but
three."""

_BY_CASES, _BY_ELEMENTS, _BY_NUMBERS = 0.3, 1.0, 2.0
"""Weights of the same cases failing, of the same elements being wrong, and of the same numbers in them. Any weights in
this order point at the same clauses, but for one in a hundred."""

_OF_OTHERS = 0.05
"""Addition of two more mistakes of a clause to the most alike: enough to settle a tie, and not more."""

_BY_STRANGERS = 4.0
"""How much likelier a clause is that an implementation breaks which fails the very same cases; less so by the square of
the cosine. Each batch of four, left out in turn, is pointed at as well with anything from 1 to 16."""

REPORTED_BESIDE = 0.9
"""A second suspect this likely beside the first is reported with it. Of 300 blind mistakes, each compared with the
batches that are not its own, the first was right in nine of ten where the second was less than 0.7 times as likely, in
three of four from there on, and in half of those reported so."""

_NONE: frozenset[str] = frozenset()

_FEWEST = 8
"""Cases that must be seen before any clause is reported: one failing case names nothing on which others were not run.
Of an operation with fewer cases, all of them."""

_MOST_REPORTED = 3

_WORTH_KEEPING = 0.35
_MOST = 5

_WOULD_FAIL = 4.0
"""Cases of a clause that would fail if they failed as often as all others; where none does, the clause is kept."""

_PROMISED = {
    "inputs_unchanged": "inputs_unchanged",
    "outputs_unchanged": "repeatable",
    "repeatable": "repeatable",
    "dtype": "precision.dtype",
}
"""Check to the clause that it tests, without the operation's name."""

SPOILING = (".inputs_unchanged", ".repeatable")
"""Endings of clauses whose breach makes later numbers wrong."""

_ALWAYS_SEEN = ".inputs_unchanged"
"""Ending of the clause whose check sees every breach: inputs are looked at after each call."""


@dataclass(frozen=True)
class Suspect:
    """Clause that failures point at, by their likeness (0 to 1) to those of a known mistake that breaks it.

    `mistake` is None where something else speaks for the clause. Of the `failing` cases, `shared` fail that mistake,
    too, or speak for the clause; `others` would fail it and pass here. `is_reported` by the diagnosis.
    """

    clause: str
    likeness: float
    mistake: str | None
    shared: int
    failing: int
    others: int
    is_reported: bool = False


def rank_suspects(
    alike: Sequence[Suspect], mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result]
) -> tuple[Suspect, ...]:
    """Return the clauses that failures of one operation point at, likeliest first; `alike` is from `alike_suspects`."""
    seen = {result.case.id for result in (*failing, *passing)}
    fewest = min(_FEWEST, len(tried_cases(failing[0].case.operation)) or _FEWEST)
    most = _MOST_REPORTED if len(seen) >= fewest else 0
    by_id = {mistake.id: mistake for mistake in mistakes}
    graded = [result for result in one_for_each_case(finite_results(failing)) if result.got is not None]
    examined = [Evidence(result) for result in spread_results(graded, _EXAMINED)]
    of_clause: dict[str, list[Suspect]] = {}
    kept = _kept_clauses(failing, passing)
    for entry in [entry for entry in alike if entry.clause not in kept][:_COMPARED]:
        assert entry.mistake is not None
        weighed = replace(entry, likeness=entry.likeness * _weighed(by_id[entry.mistake], examined))
        of_clause.setdefault(entry.clause, []).append(weighed)
    strangers = _strangers_alike(failing, passing)
    suspected: list[Suspect] = []
    for clause, entries in of_clause.items():
        first, *others = sorted(entries, key=lambda entry: -entry.likeness)
        likeness = min(1.0, first.likeness + _OF_OTHERS * sum(entry.likeness for entry in others[:2]))
        cosine = strangers.get(clause, 0.0)
        suspected.append(replace(first, likeness=likeness * (1 + _BY_STRANGERS * cosine**2) / (1 + _BY_STRANGERS)))
    ordered = sorted(suspected, key=lambda entry: -entry.likeness)
    reported = [
        replace(suspect, is_reported=position < most and suspect.likeness >= REPORTED_BESIDE * ordered[0].likeness)
        for position, suspect in enumerate(ordered[:_MOST])
        if suspect.likeness >= _WORTH_KEEPING * ordered[0].likeness
    ]
    # Where tokens stand elsewhere, everything else looks wrong, too: what a layout has of its own comes first.
    return tuple(sorted(reported, key=lambda suspect: not (suspect.is_reported and layouts_of_clause(suspect.clause))))


def _kept_clauses(failing: Sequence[Result], passing: Sequence[Result]) -> set[str]:
    """Return the clauses that are kept: their own cases all pass, and some would fail if these failed as the others do.

    However many failures a mistake about such a clause shares, it is another one that was made.
    """
    wrong, right = (_cases_by_clause(results) for results in (failing, passing))
    fail, succeed = (len({result.case.id for result in results}) for results in (failing, passing))
    share = fail / (fail + succeed)
    return {clause for clause, cases in right.items() if clause not in wrong and share * len(cases) >= _WOULD_FAIL}


def _strangers_alike(failing: Sequence[Result], passing: Sequence[Result]) -> Mapping[str, float]:
    """Map each clause to the cosine of the most alike implementation by a stranger that breaks it.

    Strangers took the arguments of the contract's own form, so they say nothing in a layout that has others. Nor do
    they of a clause on which they were never run, while no case that lists it notices any of them: it counts as the
    most alike.
    """
    operation, layout = failing[0].case.operation, failing[0].run.layout
    if operation_in(operation, layout) is not OPERATIONS[operation]:
        return {}
    tried = judged_cases(operation)
    wrong, right = (_by_dtype([each for each in results if each.case.id in tried]) for results in (failing, passing))
    runs = sum(map(len, wrong.values()))
    found: dict[str, float] = {}
    for implementation in judged_implementations(operation):
        here, there = (len(_runs_of_cases(implementation.cases, of)) for of in (wrong, right))
        if not here:
            continue
        cosine = here / math.sqrt((here + there) * runs)
        for clause in implementation.clauses:
            found[clause] = max(cosine, found.get(clause, 0.0))
    judged = frozenset[str]().union(*(implementation.cases for implementation in judged_implementations(operation)))
    listing = _cases_by_clause([*failing, *passing])
    most = max(found.values(), default=0.0)
    return {**{clause: most for clause, cases in listing.items() if not cases & judged}, **found}


def alike_suspects(mistakes: Sequence[Mistake], failing: Sequence[Result], passing: Sequence[Result]) -> list[Suspect]:
    """Return the mistakes of one operation that share a failure with the results, the most alike first.

    Alike is the cosine of the two sets of failures: Ochiai's coefficient of fault localisation (Abreu, Zoeteweij, van
    Gemund 2007). For cases of another folder, on which no mistake was tried, the cases that list its clause stand in.
    """
    operation = failing[0].case.operation
    tried = tried_cases(operation)
    known = [result for result in failing if result.case.id in tried]
    wrong = _by_dtype(known or failing)
    right = _by_dtype([result for result in passing if result.case.id in tried or not known])
    runs, cases = sum(map(len, wrong.values())), len(set[str]().union(*wrong.values()))
    listing: Mapping[str, Set[str]] = {} if known else _cases_by_clause([*failing, *passing])
    found: list[Suspect] = []
    for mistake in mistakes:
        if known:
            here, there = (_noticed(mistake, of) for of in (wrong, right))
        else:
            here, there = (_runs_of_cases(listing.get(mistake.clause, _NONE), of) for of in (wrong, right))
        if here:
            cosine = len(here) / math.sqrt((len(here) + len(there)) * runs)
            both, other = ({case for case, _ in of} for of in (here, there))
            found.append(Suspect(mistake.clause, cosine, mistake.id, len(both), cases, len(other - both)))
    return sorted(found, key=lambda entry: -entry.likeness)


def _by_dtype(results: Sequence[Result]) -> Mapping[str, set[str]]:
    """Map each dtype to the cases that were run in it."""
    return _grouped((result.dtype, result.case.id) for result in results)


def _cases_by_clause(results: Sequence[Result]) -> Mapping[str, set[str]]:
    """Map each clause to the cases that list it."""
    return _grouped((clause, result.case.id) for result in results for clause in result.case.clauses)


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return found


def _runs_of_cases(cases: Set[str], runs: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Return the runs (case, dtype) of some cases."""
    return {(case, dtype) for dtype, of_dtype in runs.items() for case in of_dtype & cases}


def _noticed(mistake: Mistake, runs: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Return the runs (case, dtype) that notice a mistake."""
    return {
        (case, dtype)
        for dtype, cases in runs.items()
        for case in cases & noticed_cases(mistake.operation, dtype).get(mistake.id, _NONE)
    }


def _weighed(mistake: Mistake, examined: Sequence[Evidence]) -> float:
    """Return how alike the wrong elements are, from the weight of equal cases to 1."""
    compared = [alike for entry in examined if (alike := entry.likeness(mistake)) is not None]
    whole = _BY_CASES + _BY_ELEMENTS + _BY_NUMBERS
    if not compared:
        return _BY_CASES / whole
    elements = sum(alike.elements for alike in compared) / len(compared)
    numbers = sum(alike.numbers for alike in compared) / len(compared)
    return (_BY_CASES + _BY_ELEMENTS * elements + _BY_NUMBERS * numbers) / whole


def suspects_by_output(suspects: Sequence[Suspect], failing: Sequence[Result]) -> tuple[Suspect, ...]:
    """Return the suspected clauses, first that of an output which is not expected and is the only wrong one."""
    graded = [result for result in failing if result.verdict.check == "values" and result.case.properties is None]
    examined = [Evidence(result) for result in spread_results(one_for_each_case(graded), _EXAMINED)]
    wrong = [{name for name, elements in entry.wrong.items() if elements.any()} for entry in examined]
    is_expected = any(names.intersection(entry.required) for entry, names in zip(examined, wrong, strict=True))
    if len(graded) < len(failing) or not wrong or is_expected:
        return tuple(suspects)
    operation = OPERATIONS[failing[0].case.operation]
    known = clauses().get(suspects[0].clause) if suspects else None
    for output in operation.outputs:
        clause = _clause_id_about(output, operation.short_name)
        if known is not None and re.search(rf"\b{output}\b", known.text):
            continue
        if clause is not None and all(output in of_run for of_run in wrong):
            cases = len({result.case.id for result in failing})
            first = Suspect(clause, 1.0, None, shared=cases, failing=cases, others=0, is_reported=True)
            others = (replace(suspect, is_reported=False) for suspect in suspects if suspect.clause != clause)
            return (first, *others)
    return tuple(suspects)


def _clause_id_about(output: str, operation: str) -> str | None:
    """Return the clause that has the name of an output or begins with it."""
    if f"{operation}.{output}" in clauses():
        return f"{operation}.{output}"
    for clause in clauses().values():
        subject = re.match(r"(`\w+`(, | and )?)+", clause.text)
        if clause.id.startswith(f"{operation}.") and subject is not None and f"`{output}`" in subject[0]:
            return clause.id
    return None


def suspects_by_law(suspects: Sequence[Suspect], law: Law, failing: int) -> tuple[Suspect, ...]:
    """Return the suspected clauses once a law was measured over `failing` failures, the likeliest first.

    The clause of a law comes before those that the cases point at. Where only a part of the computation is known to go
    wrong, the clauses about that part come first.
    """
    of_law = [suspect for suspect in suspects if suspect.clause in law.clauses]
    if law.is_found:
        by_law_alone = Suspect(law.clauses[0], 1.0, None, shared=law.confirmed, failing=failing, others=0)
        reported = [replace(of_law[0] if of_law else by_law_alone, is_reported=True)]
    elif of_law and any(suspect.is_reported for suspect in suspects):
        near = REPORTED_BESIDE * of_law[0].likeness
        reported = [
            replace(suspect, is_reported=True) for suspect in of_law[:_MOST_REPORTED] if suspect.likeness >= near
        ]
    else:
        return tuple(suspects)
    clauses = {suspect.clause for suspect in reported}
    others = [replace(suspect, is_reported=False) for suspect in suspects if suspect.clause not in clauses]
    return (*reported, *sorted(others, key=lambda suspect: suspect.clause not in law.clauses))


def broken_by_check(wrong: Sequence[Result]) -> Mapping[str, list[Result]]:
    """Map each clause to the wrong results of one operation that break it by their check alone, most results first."""
    found: dict[str, list[Result]] = {}
    for result in wrong:
        clause = _clause_of(result)
        if clause is not None:
            found.setdefault(clause, []).append(result)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def not_excluded(mistakes: Sequence[Mistake], broken: Iterable[str]) -> list[Mistake]:
    """Drop mistakes that a check would have caught and did not; `broken` are the clauses that checks found broken."""
    return [mistake for mistake in mistakes if not mistake.clause.endswith(_ALWAYS_SEEN) or mistake.clause in broken]


def _clause_of(result: Result) -> str | None:
    """Return the clause that a check shows broken; None where its page has no such clause."""
    check = result.verdict.check
    if check == "rejects":
        refusals = [clause for clause in result.case.clauses if ".rejects." in clause]
        return (refusals or list(result.case.clauses))[0]
    if result.is_of_run:
        return result.case.clauses[0]
    clause = f"{OPERATIONS[result.case.operation].short_name}.{_PROMISED.get(check or '')}"
    return clause if clause in clauses() else None
