"""The report on a terminal: a table, then each failing operation in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attnspec.comparison import STATUSES
from attnspec.reports.wording import (
    diagnosis_lines,
    failures_by_operation,
    headline,
    result_sentence,
    step_sentence,
)
from attnspec.specification import clauses, errata

if TYPE_CHECKING:
    from rich.console import Console

    from attnspec.reports.report import Report
    from attnspec.runner import Result

_CASES_SHOWN = 3
_LONGEST_MESSAGE = 600
_COLOURS = {"pass": "green", "unsupported": "yellow"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


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
        _print_unsupported(report, console)
    colour = "green" if report.conforms else "red"
    _say(console, headline(report), style=f"bold {colour}")


def _table(report: Report) -> object:
    from rich import box
    from rich.table import Table

    shown = [status for status in STATUSES if report.summary.counts.get(status)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("operation")
    table.add_column("dtype")
    for status in shown:
        table.add_column(status, justify="right", style=_COLOURS.get(status, "red"))
    table.add_column("worst error / tolerance", justify="right")
    table.add_column("median", justify="right")
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        groups.setdefault((result.case.operation, result.dtype), []).append(result)
    for (operation, dtype), results in sorted(groups.items(), key=lambda group: group[0][0]):
        counts = [sum(result.status == status for result in results) for status in shown]
        ratios = [result.verdict.worst.ratio for result in results if result.verdict.worst is not None]
        medians = [result.verdict.median for result in results if result.verdict.median is not None]
        table.add_row(
            operation,
            dtype,
            *(str(count) if count else "" for count in counts),
            f"{max(ratios):.3g}" if ratios else "",
            f"{sorted(medians)[len(medians) // 2]:.2g}" if medians else "",
        )
    return table


def _print_operation(operation: str, results: list[Result], report: Report, console: Console) -> None:
    console.print()
    _say(console, f"{operation}: {len(results)} went wrong", style="bold red")
    diagnosis = [entry for entry in report.diagnosis if entry.operation == operation]
    for entry in diagnosis:
        for line in diagnosis_lines(entry):
            _say(console, line, indent=2)
    for result in results[:_CASES_SHOWN]:
        console.print()
        _say(console, f"{result.case.id} ({result.dtype}): {result.status}", indent=2, style="bold")
        _say(console, result.case.title, indent=4, style="italic")
        _say(console, result_sentence(result), indent=4)
        step = step_sentence(result)
        if step:
            _say(console, step, indent=4)
        if not any(entry.clause for entry in diagnosis):
            _print_clauses(result, console)
        for erratum in result.case.errata:
            entry = errata().get(erratum)
            if entry is not None:
                _say(console, f"See also erratum {erratum}: {entry.title}", indent=4)
    if len(results) > _CASES_SHOWN:
        _say(console, f"… and {len(results) - _CASES_SHOWN} more; --report FILE.json has them all.", indent=2)


def _print_clauses(result: Result, console: Console) -> None:
    _say(console, "The case exercises:", indent=4)
    for clause in result.case.clauses:
        known = clauses().get(clause)
        _say(console, f"{clause}: {known.text}" if known else clause, indent=6)


def _print_unsupported(report: Report, console: Console) -> None:
    """Print why cases were not graded, one line a reason."""
    reasons: dict[str, int] = {}
    for result in report.results:
        if result.status == "unsupported":
            reasons[result.verdict.message] = reasons.get(result.verdict.message, 0) + 1
    if reasons:
        console.print()
        _say(console, "Not graded:", style="yellow")
        for reason, count in sorted(reasons.items(), key=lambda entry: -entry[1]):
            _say(console, f"{count} x {reason}", indent=2)


def _say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Print text as it is: no markup, no control characters, wrapped under its own indent."""
    from rich.padding import Padding
    from rich.text import Text

    plain = _CONTROL.sub(" ", text)
    if len(plain) > _LONGEST_MESSAGE:
        plain = plain[:_LONGEST_MESSAGE] + " …"
    console.print(Padding(Text(plain, style=style), (0, 0, 0, indent)))
