"""The report on a terminal: a table, then each failing operation in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.contract import OPERATIONS
from attnspec.dtypes import ANY, FLOAT_DTYPES
from attnspec.plain_text import plain_text
from attnspec.reports.alike import and_more, told_together
from attnspec.reports.wording import (
    diagnosis_lines,
    elements_sentence,
    explain_sentence,
    failures_by_operation,
    family_sentences,
    headline,
    left_out_sentences,
    not_graded_sentence,
    not_run_sentence,
    result_sentence,
    step_sentence,
)
from attnspec.specification import clauses, errata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from attnspec.diagnosis import Diagnosis
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
        for operation, results in failures_by_operation(report).items():
            _print_operation(operation, results, report, console)
        more = explain_sentence(report)
        if more is not None:
            console.print()
            _say(console, more)
        _print_unsupported(report, console)
        for sentence in left_out_sentences(report.left_out):
            _say(console, sentence, style="yellow")
        for sentence in filter(None, (not_graded_sentence(report.declaration), not_run_sentence(report))):
            _say(console, sentence, style="yellow")
        elements = elements_sentence(report)
        if elements is not None:
            _say(console, elements)
        for sentence in family_sentences(report):
            _say(console, sentence)
    colour = "green" if report.conforms else "red"
    _say(console, headline(report), style=f"bold {colour}")


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
    said = result_sentence(result)
    _say(console, said if result.status in ("fail", "error") else f"{result.status}: {said}")
    _say(console, result.case.title)
    step = step_sentence(result)
    if step:
        _say(console, step)
    console.print()
    for entry in diagnosis:
        for line in diagnosis_lines(entry):
            _say(console, line)
    if not any(entry.clause for entry in diagnosis):
        _print_rules(result, console, indent=0)
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


def _table(report: Report) -> object:
    """Return a table with a row for each operation: passed of tried in each dtype, and how close it came."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    seen = {result.dtype for result in report.results}
    dtypes = [dtype for dtype in (*FLOAT_DTYPES, ANY) if dtype in seen]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("passed of tried", min_width=max(map(len, OPERATIONS)), no_wrap=True)
    for dtype in dtypes:
        table.add_column("no floats" if dtype == ANY else dtype, justify="right")
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


def _print_operation(operation: str, results: list[Result], report: Report, console: Console) -> None:
    console.print()
    _say(console, f"{operation}: {len(results)} went wrong", style="bold red")
    diagnosis = [entry for entry in report.diagnosis if entry.operation == operation]
    for entry in diagnosis:
        for line in diagnosis_lines(entry):
            _say(console, line, indent=2)
    by_case, together = told_together(results, lambda result: result.case.id, _words)
    for of_case in by_case[:_CASES_SHOWN]:
        console.print()
        _print_case(of_case, console, named=any(entry.clause for entry in diagnosis))
    more = len(by_case) - _CASES_SHOWN
    if more > 0:
        cases = "case" if more == 1 else "cases"
        _say(console, f"… and {more} more {cases}; --report FILE.json has them all.", indent=2)
    for alike in together:
        console.print()
        _print_alike(alike, console)


def _words(result: Result) -> str | None:
    """Return how a result without numbers ended."""
    return None if result.status == "fail" else f"{result.status}: {result_sentence(result)}"


def _print_alike(results: list[Result], console: Console) -> None:
    """Print many cases that ended in the same words."""
    ids = list(dict.fromkeys(result.case.id for result in results))
    dtypes = ", ".join(dict.fromkeys(result.dtype for result in results))
    _say(console, f"{len(ids)} cases ({dtypes}): {results[0].status}", indent=2, style="bold")
    _say(console, result_sentence(results[0]), indent=4)
    _say(console, f"{', '.join(ids[:_CASES_SHOWN])}{and_more(ids, _CASES_SHOWN)}", indent=4)


def _print_case(results: list[Result], console: Console, *, named: bool) -> None:
    """Print one failing case, in words for its first dtype; the clauses and errata where no mistake is named."""
    first = results[0]
    dtypes = ", ".join(result.dtype for result in results)
    _say(console, f"{first.case.id} ({dtypes}): {first.status}", indent=2, style="bold")
    _say(console, first.case.title, indent=4, style="italic")
    _say(console, result_sentence(first), indent=4)
    step = step_sentence(first)
    if step:
        _say(console, step, indent=4)
    if not named:
        _print_rules(first, console, indent=4)


def _print_rules(result: Result, console: Console, *, indent: int) -> None:
    """Print the clauses that a case exercises, and the errata that bear on a wrong answer."""
    _say(console, "The case exercises:", indent=indent)
    for clause in result.case.clauses:
        known = clauses().get(clause)
        _say(console, f"{clause}: {known.text}" if known else clause, indent=indent + 2)
    for erratum in result.case.errata if result.status == "fail" else ():
        entry = errata().get(erratum)
        if entry is not None:
            _say(console, f"See also erratum {erratum}: {entry.title}", indent=indent)


def _print_unsupported(report: Report, console: Console) -> None:
    """Print which operations are not offered, and why other cases were not graded, one line a reason."""
    offered = report.declaration.operations
    missing = {result.case.operation: None for result in report.results if result.case.operation not in offered}
    reasons: dict[str, int] = {}
    for result in report.results:
        if result.status == "unsupported" and result.case.operation in offered:
            reasons[result.verdict.message] = reasons.get(result.verdict.message, 0) + 1
    if missing or reasons:
        console.print()
    if missing:
        _say(console, f"Not offered: {', '.join(missing)}.", style="yellow")
    for reason, count in sorted(reasons.items(), key=lambda entry: -entry[1]):
        _say(console, f"{count} not graded: {reason}", style="yellow")


def _say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Print text as it is: no markup, no control characters, wrapped under its own indent."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(plain_text(text), style=style), (0, 0, 0, indent)))
