"""The report on a terminal: a table, then each failing operation in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.comparison import NOT_GRADED
from attnspec.contract import OPERATIONS
from attnspec.dtypes import ANY, FLOAT_DTYPES
from attnspec.plain_text import plain_text
from attnspec.reports import wording
from attnspec.reports.entries import (
    by_operation,
    clauses_graded,
    diagnosis_lines,
    left_out_sentences,
    numbers_compared,
    points_at,
    verdict,
)
from attnspec.reports.failures import failure_of, told
from attnspec.reports.report_json import diagnosis_to_json, result_to_json, summary_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rich.console import Console

    from attnspec.diagnosis import Diagnosis
    from attnspec.reports.failures import Failure
    from attnspec.reports.report import Report
    from attnspec.runner import Result

_CASES_SHOWN = 3


def print_report(report: Report, console: Console, *, quiet: bool = False) -> None:
    """Print a report.

    Parameters
    ----------
    report
        What to print.
    console
        Where to.
    quiet
        Print the one closing line alone.
    """
    if not quiet:
        console.print(_table(report))
        _print_failures(report, console)
        _print_not_graded(report, console)
        left = wording.not_run_sentence(report.not_run, len(report.results), report.ended_early)
        declaration = report.declaration
        beside = wording.functions_not_graded(declaration.not_graded, declaration.adapter)
        unseen = wording.NUMBERS_ALONE if report.invocation.export else None
        for sentence in filter(None, (beside, unseen, left)):
            _say(console, sentence, style="yellow")
        for sentence in _closing(report):
            _say(console, sentence)
    name = wording.shown_name(report.declaration.name, report.declaration.version)
    colour = "green" if report.conforms else "red"
    _say(console, verdict(name, summary_to_json(report.summary), report.not_run), style=f"bold {colour}")


def failure_text(result: Result, diagnosis: Sequence[Diagnosis]) -> str:
    """Return in words what went wrong with one (case, dtype), for the output of another tool.

    Parameters
    ----------
    result
        A wrong result.
    diagnosis
        What explains it.
    """
    from io import StringIO

    from rich.console import Console

    shown = StringIO()
    console = Console(file=shown, width=100, color_system=None, highlight=False, markup=False, emoji=False)
    failure = failure_of([result_to_json(result, outputs=False)])
    _say(console, wording.ending_with_status(failure.status, failure.ending))
    _say(console, result.case.title)
    if failure.step is not None:
        _say(console, failure.step)
    console.print()
    for entry in diagnosis:
        for line in diagnosis_lines(diagnosis_to_json(entry)):
            _say(console, line)
    if not any(points_at(diagnosis_to_json(entry)) for entry in diagnosis):
        _print_rules(failure, console, indent=0)
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


def _table(report: Report) -> object:
    """Return a table with a row for each operation: passed of tried in each dtype, and how close it came."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    seen = {result.dtype for result in report.results}
    dtypes = [dtype for dtype in (*FLOAT_DTYPES, ANY) if dtype in seen]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(wording.PASSED_OF_TRIED, min_width=max(map(len, OPERATIONS)), no_wrap=True)
    for dtype in dtypes:
        table.add_column(wording.dtype_name(dtype), justify="right")
    table.add_column("worst error", justify="right")
    for operation in report.declaration.operations:
        results = [result for result in report.results if result.case.operation == operation]
        if results:
            cells = (_cell([result for result in results if result.dtype == dtype]) for dtype in dtypes)
            table.add_row(operation, *(Text(text, style=style) for text, style in cells), _worst(results))
    table.caption = "worst error: error / tolerance; above 1 fails"
    table.caption_justify = "left"
    return table


def _cell(results: list[Result]) -> tuple[str, str]:
    """Return passed of tried in one dtype, red when something is wrong, yellow when nothing was graded."""
    if not results:
        return "", ""
    passed = sum(result.status == "pass" for result in results)
    style = "red" if any(result.is_wrong for result in results) else ("green" if passed else "yellow")
    return f"{passed}/{len(results)}", style


def _worst(results: list[Result]) -> str:
    ratios = [result.verdict.worst.ratio for result in results if result.verdict.worst is not None]
    return f"{max(ratios):.2g}" if ratios else ""


def _print_failures(report: Report, console: Console) -> None:
    """Print what went wrong, an operation at a time, and how to read on."""
    wrong = [result_to_json(result, outputs=False) for result in report.wrong]
    diagnosis = [diagnosis_to_json(entry) for entry in report.diagnosis]
    titles = {result.case.id: result.case.title for result in report.wrong}
    for operation, results in by_operation(wrong).items():
        of_operation = [entry for entry in diagnosis if entry["operation"] == operation]
        _print_operation(operation, results, of_operation, titles, console)
    if wrong:
        named = list(filter(None, map(points_at, diagnosis)))
        console.print()
        _say(console, wording.explain(named[0] if named else wrong[0]["case"]))


def _print_operation(
    operation: str,
    results: list[Mapping[str, Any]],
    diagnosis: list[dict[str, Any]],
    titles: Mapping[str, str],
    console: Console,
) -> None:
    console.print()
    _say(console, f"{operation}: {wording.went_wrong(len(results))}", style="bold red")
    for entry in diagnosis:
        for line in diagnosis_lines(entry):
            _say(console, line, indent=2)
    failures = told(results)
    for failure in failures.by_case[:_CASES_SHOWN]:
        console.print()
        _print_case(failure, titles[failure.cases[0]], console, named=bool(diagnosis and points_at(diagnosis[0])))
    more = len(failures.by_case) - _CASES_SHOWN
    if more > 0:
        what = "case" if more == 1 else "cases"
        _say(console, wording.more(more, what, held_by="--report FILE.json"), indent=2)
    for failure in failures.together:
        console.print()
        _print_many_cases(failure, console)


def _print_case(failure: Failure, title: str, console: Console, *, named: bool) -> None:
    """Print one failing case; the clauses and errata where no mistake is named."""
    _say(console, f"{failure.cases[0]} ({', '.join(failure.dtypes)}): {failure.status}", indent=2, style="bold")
    _say(console, title, indent=4, style="italic")
    _say(console, failure.ending, indent=4)
    if failure.step is not None:
        _say(console, failure.step, indent=4)
    if not named:
        _print_rules(failure, console, indent=4)


def _print_many_cases(failure: Failure, console: Console) -> None:
    """Print many cases that ended in the same words."""
    cases = wording.counted(len(failure.cases), "case")
    _say(console, f"{cases} ({', '.join(failure.dtypes)}): {failure.status}", indent=2, style="bold")
    _say(console, failure.ending, indent=4)
    _say(console, wording.names(failure.cases[:_CASES_SHOWN], len(failure.cases)), indent=4)


def _print_rules(failure: Failure, console: Console, *, indent: int) -> None:
    """Print the clauses that a case exercises, and the errata that bear on a wrong answer."""
    _say(console, wording.THE_CASE_EXERCISES, indent=indent)
    for clause in failure.clauses:
        _say(console, wording.clause_in_words(clause), indent=indent + 2)
    for sentence in filter(None, map(wording.see_also, failure.errata)):
        _say(console, sentence, indent=indent)


def _print_not_graded(report: Report, console: Console) -> None:
    """Print which operations are not offered, and why other cases were not graded, one line a reason."""
    offered = report.declaration.operations
    missing = {result.case.operation: None for result in report.results if result.case.operation not in offered}
    reasons: dict[str, int] = {}
    for result in report.results:
        if result.status in NOT_GRADED and result.case.operation in offered:
            reasons[result.verdict.message] = reasons.get(result.verdict.message, 0) + 1
    if missing or reasons:
        console.print()
    sentences = [wording.not_offered(missing)] if missing else []
    sentences += [
        wording.not_graded(count, reason) for reason, count in sorted(reasons.items(), key=lambda entry: -entry[1])
    ]
    for sentence in (*sentences, *left_out_sentences(report.left_out)):
        _say(console, sentence, style="yellow")


def _closing(report: Report) -> list[str]:
    """Return how many numbers were compared, and what came of each family where there are several."""
    summary = report.summary
    compared = numbers_compared(summary_to_json(summary), (summary.fused, summary.unfused))
    families = {family: summary_to_json(of_family) for family, of_family in report.by_family.items()}
    return [
        *filter(None, [wording.probed(report.probes)]),
        *([] if compared is None else [f"{compared}."]),
        *(
            wording.family_verdict(family, of_family["conformance"], of_family["statuses"], clauses_graded(of_family))
            for family, of_family in families.items()
            if len(families) > 1
        ),
    ]


def _say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Print text as it is: no markup, no control characters, wrapped under its own indent."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(plain_text(text), style=style), (0, 0, 0, indent)))
