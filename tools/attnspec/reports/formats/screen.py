"""Problem in a few lines, so that a run with several of them fits on a screen; and results not graded, in one line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from attnspec.base.plain_text import plain_text
from attnspec.grading import NOT_GRADED
from attnspec.reports import problem_wording, wording
from attnspec.reports.entries import points_at
from attnspec.reports.failures import failure_of
from attnspec.reports.report_json import diagnosis_to_json, result_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.reports.problems import Problem, Whole
    from attnspec.reports.report import Report

_BEGINNING, _END = 140, 40
"""Characters shown of a message: numbers or the beginning of an exception, and last the line that raised it."""


_SPEAKING = ("error", "malformed")
"""Statuses whose message names the fault."""


def problem_lines(problem: Problem, whole: Whole, *, alone: bool) -> list[str]:
    """Return fault, remedy, clause and the failure that shows it best; parameters as for `cause_lines`."""
    failure = failure_of([result_to_json(problem.telling, outputs=False)])
    # A problem that is reported by its ending has shown that.
    ending = None if problem.kind == "ending" else _cropped(plain_text(failure.ending))
    case = filter(None, [problem_wording.such_as(failure.cases[0], failure.dtypes[0], ending), failure.step])
    return [*cause_lines(problem, whole, alone=alone), " ".join(map(_sentence, case))]


def cause_lines(problem: Problem, whole: Whole, *, alone: bool) -> list[str]:
    """Return fault, remedy and clause of a problem, without the number of its failures.

    `whole`: an operation is named where there are several, dtypes where the same cases are right in others. `alone`: no
    other problem exists, so the words of clause and erratum fit.
    """
    entries = [diagnosis_to_json(entry) for entry in problem.diagnosis]
    first = entries[0] if entries else None
    failure = failure_of([result_to_json(problem.telling, outputs=False)])
    if problem.kind == "check":
        lines = [problem_wording.failed_check(failure.check or failure.status), *_broken(problem, entries)]
    elif problem.kind == "ending":
        lines = [problem_wording.all_ended(failure.status, _cropped(plain_text(failure.ending)))]
        # An exception says more than any clause; a process that ended, or said nothing, says nothing by itself.
        if first is not None:
            lines += _undeclared(first, whole) if failure.status in _SPEAKING else _hints(first, whole)
    elif problem.kind == "unexplained" or first is None:
        lines = [problem_wording.nothing_explains(), *(_hints(first, whole) if first is not None else [])]
    elif first["sentence"]:
        lines = _named(problem, entries, whole, in_words=alone)
    else:
        lines = _hints(first, whole)
    operations = problem.operations if len(whole.operations) > 1 else ()
    lines[0] = problem_wording.reported_of(operations, problem.dtypes if whole.spares(problem) else (), lines[0])
    return lines


def worth_asking(problems: Sequence[Problem]) -> str:
    """Return the word that `attnspec explain` says most about: a mistake or a clause, else a case."""
    found = (points_at(diagnosis_to_json(entry)) for problem in problems for entry in problem.diagnosis)
    return next(filter(None, found), problems[0].telling.case.id)


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
        broken = [problem_wording.breaks({first["clause"]: len(problem.results)}, errata)]
    return [
        f"{wording.how_sure(first['certainty'])}{first['sentence']}",
        *(problem_wording.or_another(entry["sentence"], entry["clause"]) for entry in others),
        *([wording.what_to_do(first["remedy"])] if first["remedy"] else []),
        *_undeclared(first, whole),
        *broken,
        *_measured(first),
    ]


def _broken(problem: Problem, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the clause in words where there is one, the ids where there are several."""
    if len(problem.clauses) == 1:
        return [wording.broken_clause(entries[0]["clause"])]
    return [problem_wording.breaks(problem.clauses, ())]


def _hints(entry: Mapping[str, Any], whole: Whole) -> list[str]:
    """Return the hints of failures without a name: conventions, suspects, mistakes in part alike."""
    suspected = [suspect["clause"] for suspect in entry["suspects"] if suspect["is_told"]]
    partly = [problem_wording.looks_in_part_like(candidate) for candidate in entry["candidates"]]
    return [
        *_undeclared(entry, whole),
        *([problem_wording.most_likely_broken(suspected)] if suspected else []),
        *(_measured(entry) or partly[:1] or entry["facts"][:1]),
    ]


def _measured(entry: Mapping[str, Any]) -> list[str]:
    return [wording.measured(law["sentence"], 0) for law in entry["laws"]]


def _undeclared(entry: Mapping[str, Any], whole: Whole) -> list[str]:
    """Return the convention to declare, unless it is reported above all problems."""
    undeclared = entry["undeclared"]
    if undeclared is None or undeclared["convention"] in whole.offered:
        return []
    return [problem_wording.declare(undeclared)]


def _cropped(said: str) -> str:
    return said if len(said) <= _BEGINNING + _END else f"{said[:_BEGINNING].rstrip()} … {said[-_END:].lstrip()}"


def _sentence(said: str) -> str:
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."
