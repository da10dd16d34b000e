"""Problem in a few lines, so that a run with several of them fits on a screen; and results not graded, in one line."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY
from attnspec.grading import NOT_GRADED
from attnspec.reports import wording
from attnspec.reports.entries import failure_of, suspected_clauses, word_to_explain
from attnspec.reports.problems import Problem, Whole
from attnspec.reports.report import Report, diagnosis_to_json, result_to_json

_BEGINNING, _END = 140, 40
"""Characters shown of a message: numbers or the beginning of an exception, and last the line that raised it."""

_SPEAKING = ("error", "malformed")
"""Statuses whose message names the fault."""

_CLAUSES_NAMED = 4

_FAILED_CHECKS = {
    "rejects": "Inputs that must be refused were accepted.",
    "inputs_unchanged": "The caller's inputs were changed.",
    "outputs_unchanged": "What a call returned was changed by a later call.",
    "repeatable": "A result depends on other calls than its own.",
    "dtype": "Results have another dtype than they must have.",
    "systematic": "Each passing result is within its tolerance, but roundings would scatter, and these pull together.",
    "invariance": "Results have other bits in another batch, though they are declared to have the same.",
    "state": "Each call is right by itself, and a decoder that goes on from what it kept is not.",
    "layer": "No case can express this, so that the layer was called by itself.",
}
"""Check to the sentence on the fault where it fails."""


def problem_lines(problem: Problem, whole: Whole, *, alone: bool) -> list[str]:
    """Return fault, remedy, clause and the failure that shows it best; parameters as for `cause_lines`."""
    failure = failure_of([result_to_json(problem.clearest, outputs=False)])
    case, dtype = failure.cases[0], failure.dtypes[0]
    if problem.clearest.is_of_run:
        return cause_lines(problem, whole, alone=alone)
    such = f"Such as {case if dtype == ANY else f'{case} ({dtype})'}"
    # A problem that is reported by its ending has shown that.
    such += "." if problem.kind == "ending" else f": {_cropped(failure.ending)}"
    shown = " ".join(map(wording.as_sentence, filter(None, (such, failure.step))))
    return [*cause_lines(problem, whole, alone=alone), shown]


def cause_lines(problem: Problem, whole: Whole, *, alone: bool) -> list[str]:
    """Return fault, remedy and clause of a problem, without the number of its failures.

    `whole`: an operation is named where there are several, dtypes where the same cases are right in others. `alone`: no
    other problem exists, so the words of clause and erratum fit.
    """
    entries = [diagnosis_to_json(entry) for entry in problem.diagnosis]
    first = entries[0] if entries else None
    failure = failure_of([result_to_json(problem.clearest, outputs=False)])
    if problem.kind == "check":
        check = problem.diagnosis[0].check or failure.status
        known = wording.broken_clause(entries[0]["clause"]) if len(problem.clauses) == 1 else _breaks(problem.clauses)
        measured = [wording.as_sentence(said[:1].upper() + said[1:]) for said in _of_run(problem)]
        others = sum(not result.is_of_run for result in problem.results)
        accounted = [wording.would_pass_without(others)] if measured and others else []
        failed = _FAILED_CHECKS.get(check, f"The check {check} failed.")
        lines = [*measured[:1], *accounted, failed, known, *measured[1:]]
    elif problem.kind == "ending":
        ending = _cropped(failure.ending)
        lines = [f"It {ending}" if failure.status == "error" else wording.ending_with_status(failure.status, ending)]
        # An exception says more than any clause; a process that ended, or said nothing, says nothing by itself.
        if first is not None:
            lines += _undeclared(first, whole) if failure.status in _SPEAKING else _hints(first, whole)
    elif problem.kind == "unexplained" or first is None:
        lines = ["No known mistake explains these.", *(_hints(first, whole) if first is not None else [])]
    elif first["sentence"]:
        lines = _named(problem, entries, whole, in_words=alone)
    else:
        lines = _hints(first, whole)
    operations, dtypes = problem.failing_operations, problem.failing_dtypes
    of = operations[0] if len(operations) == 1 else wording.counted(len(operations), "operation")
    where = [of] if len(whole.operations) > 1 else []
    if whole.spares(problem):
        *before, last = dtypes
        where.append(f"{'in' if where else 'In'} {', '.join(before)}{' and ' if before else ''}{last} alone")
    lines[0] = f"{', '.join(where)}: {lines[0]}" if where else lines[0]
    return lines


def _of_run(problem: Problem) -> list[str]:
    """Return the messages of results that are of the whole run, as many as are shown."""
    return [result.verdict.message for result in problem.results if result.is_of_run][:_CLAUSES_NAMED]


def most_explained(problems: Sequence[Problem]) -> str:
    """Return the word that `attnspec explain` says most about: a mistake or a clause, else a case."""
    found = (word_to_explain(diagnosis_to_json(entry)) for problem in problems for entry in problem.diagnosis)
    return next(filter(None, found), problems[0].clearest.case.id)


def clause_to_read(problem: Problem) -> str | None:
    """Return the clause that a problem breaks, or seems to, else the first of its clearest case; None without any."""
    for entry in map(diagnosis_to_json, problem.diagnosis):
        if entry["clause"] is not None:
            return entry["clause"]
        if suspected := suspected_clauses(entry):
            return suspected[0]
    return next(iter(problem.clearest.case.clauses), None)


def not_graded_line(report: Report, room: int) -> str | None:
    """Return the results not graded in one line of at most `room` characters; None where all were graded."""
    offered = report.declaration.operations
    missing = {result.case.operation for result in report.results if result.case.operation not in offered}
    of_operations = f"{wording.counted(len(missing), 'operation')} not offered"
    reasons = Counter(
        of_operations if result.case.operation in missing else result.verdict.message
        for result in report.results
        if result.status in NOT_GRADED
    )
    if not reasons and not report.left_out:
        return None
    return wording.not_graded_in_short(dict(reasons.most_common()), report.left_out, room)


def _named(problem: Problem, entries: Sequence[Mapping[str, Any]], whole: Whole, *, in_words: bool) -> list[str]:
    """Return the mistake, or those that these results do not distinguish, with remedy, clause and erratum."""
    first, *others = entries
    errata = list(dict.fromkeys(entry["erratum"] for entry in entries if entry["erratum"] is not None))
    if in_words:
        broken = [wording.broken_clause(first["clause"]), *map(wording.same_erratum, errata)]
    else:
        said = _breaks({first["clause"]: len(problem.results)})
        broken = [f"{said} Erratum {', '.join(errata)}." if errata else said]
    return [
        f"{wording.how_sure(first['certainty'])}{first['sentence']}",
        *(f"Or: {entry['sentence']} ({entry['clause']})" for entry in others),
        *([wording.what_to_do(first["remedy"])] if first["remedy"] else []),
        *_undeclared(first, whole),
        *broken,
        *_measured(first),
    ]


def _breaks(clauses: Mapping[str, int]) -> str:
    """Return the broken clauses, by their ids, with the failures of each where there are several."""
    shown = [f"{clause} ({count})" if len(clauses) > 1 else clause for clause, count in clauses.items()]
    return f"It breaks {wording.names(shown[:_CLAUSES_NAMED], len(shown))}."


def _hints(entry: Mapping[str, Any], whole: Whole) -> list[str]:
    """Return the hints of failures without a name: conventions, suspects, mistakes in part alike."""
    partly = [f"In part it looks like {like['mistake']}: {like['sentence']}" for like in entry["candidates"][:1]]
    hints = _undeclared(entry, whole)
    if suspected := suspected_clauses(entry):
        first, *others = suspected
        likely = f"Most likely broken, if not {' or '.join(others)}" if others else "Most likely, this is broken"
        hints.append(f"{likely}: {wording.clause_in_words(first)}")
    return [*hints, *(_measured(entry) or partly or entry["facts"][:1])]


def _measured(entry: Mapping[str, Any]) -> list[str]:
    return [wording.measured(law["sentence"], 0) for law in entry["laws"] if law["sentence"]]


def _undeclared(entry: Mapping[str, Any], whole: Whole) -> list[str]:
    """Return how to declare the convention under which failures would be none, unless all problems advise it."""
    undeclared = entry["undeclared"]
    if undeclared is None or undeclared["convention"] in whole.offered:
        return []
    where = f" in {' and '.join(undeclared['dtypes'])}" if undeclared["dtypes"] else ""
    option = f"--convention {undeclared['convention']}={undeclared['choice']}"
    return [f"They would be no failures{where}, if it is meant and declared: {option}."]


def _cropped(said: str) -> str:
    shown = plain_text(said)
    return shown if len(shown) <= _BEGINNING + _END else f"{shown[:_BEGINNING].rstrip()} … {shown[-_END:].lstrip()}"
