"""Report on a terminal: a table, then each distinct problem, then the verdict of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.contract.implementation import DOUBTED
from attnspec.grading import NOT_GRADED
from attnspec.reports import wording
from attnspec.reports.account import account_of
from attnspec.reports.entries import Failure, diagnosis_lines, left_out_sentences, shown_failures, word_to_explain
from attnspec.reports.problems import Problem, Whole, problems_of, whole_of
from attnspec.reports.report import Report, diagnosis_to_json, result_to_json
from attnspec.reports.screen import clause_to_read, most_explained, not_graded_line, problem_lines

if TYPE_CHECKING:
    from rich.console import Console

    from attnspec.runner import Result

_PROBLEMS_SHOWN = 5
"""Problems that are shown one by one: as many as somebody looks at in one go."""

_CASES_SHOWN = 3
_UNBOUNDED = 1_000
"""Columns that no table needs, to find out how many it does."""

_COUNT_WIDTH = 4
_INDENT = _COUNT_WIDTH + 2
"""Failures are counted in a column of their own, so that everybody sees that the numbers add up."""


def print_report(report: Report, console: Console, *, quiet: bool = False, verbose: bool = False) -> None:
    """Print a report; `quiet`: only its closing line; `verbose`: all facts, more cases, each reason not graded."""
    account = account_of(report)
    if not quiet:
        doubts = _print_guessed(account.guessed, console)
        _print_table(report, console, whole=verbose or not report.wrong)
        if account.heading is not None:
            console.print()
            if account.right is not None:
                say(console, account.right, style="bold green")
            say(console, account.heading, style="bold red")
        for line in doubts:
            say(console, line, style="bold yellow")
        if account.heading is not None:
            if account.offer:
                sentence, options = account.offer
                print_offer(sentence, options, console)
            declared = report.could_be_declared
            problems = problems_of(report.wrong, report.diagnosis)
            whole = whole_of(report.results, () if declared is None else declared.conventions)
            print_problems(problems, whole, console, verbose=verbose)
            console.print()
        _print_not_graded(report, console, verbose=verbose)
        for sentence in account.unseen:
            say(console, sentence, style="yellow")
        if account.ungraded is not None:
            say(console, account.ungraded, style="bold yellow")
        for sentence in account.closing if verbose or not report.wrong else ():
            say(console, sentence)
        for error in report.systematic if verbose else ():
            say(console, f"{error.operation}: {error.sentence}", indent=2)
    say(console, account.verdict, style=f"bold {'green' if report.conforms else 'red'}")


def _print_guessed(guessed: Sequence[str], console: Console) -> list[str]:
    """Print what a target was taken for; return what is doubtful of it, which is seen beside the failures."""
    doubts = [line for line in guessed if line.startswith(DOUBTED)]
    for line in guessed:
        if line not in doubts:
            say(console, line, style="cyan")
    if guessed:
        console.print()
    return doubts


def print_offer(sentence: str, options: str, console: Console) -> None:
    """Print what could be declared: the options in one piece, so that they can be copied from a narrow terminal."""
    from rich.text import Text

    say(console, sentence, style="cyan")
    console.print(Text(f"  {options}", style="cyan"), soft_wrap=True)


def print_problems(problems: Sequence[Problem], whole: Whole, console: Console, *, verbose: bool = False) -> None:
    """Print at least one problem of a run, each with the number of its failures; the numbers add up to all failures."""
    reported = problems if verbose else problems[:_PROBLEMS_SHOWN]
    others = problems[len(reported) :]
    known: set[str] = set()
    for problem in reported:
        console.print()
        lines = problem_lines(problem, whole, alone=len(problems) == 1)
        _print_counted(len(problem.results), lines[:1] if verbose else lines, console)
        if verbose:
            _print_all_known(problem, console, known)
    if others:
        console.print()
        one = len(others) == 1
        lines = [f"for {wording.counted(len(others), 'other reason')}; --verbose shows {'it' if one else 'them'}."]
        _print_counted(sum(len(problem.results) for problem in others), lines, console)
    console.print()
    word = most_explained(problems)
    say(console, f"`attnspec explain {word}` says more, as of any word here; --verbose shows more cases.")
    _print_link(problems[0], console)


def _print_link(problem: Problem, console: Console) -> None:
    """Print the link to the clause of a problem in one piece; a file of this machine on a terminal alone."""
    from rich.text import Text

    from attnspec.specification.clause_links import clause_link

    clause = clause_to_read(problem)
    link = None if clause is None else clause_link(clause, files=console.is_terminal)
    if link is not None:
        console.print(Text(f"{clause}: {link}"), soft_wrap=True)


def _print_table(report: Report, console: Console, *, whole: bool) -> None:
    """Print a row for each operation: passed of tried in each dtype, and how close it came.

    Where the table is not `whole`, it shows only the operations in which something is wrong.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows: dict[str, list[Result]] = {operation: [] for operation in report.declaration.operations}
    for result in report.results:
        if result.case.operation in rows:
            rows[result.case.operation].append(result)
    rows = {operation: results for operation, results in rows.items() if results}
    wrong = {result.case.operation for result in report.wrong}
    shown = {operation: results for operation, results in rows.items() if whole or operation in wrong}
    seen = {result.dtype for results in shown.values() for result in results}
    dtypes = [dtype for dtype in FLOAT_DTYPES if dtype in seen] or [ANY]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(wording.PASSED_OF_TRIED, no_wrap=True)
    for dtype in dtypes:
        table.add_column(wording.dtype_name(dtype), justify="right")
    if whole:
        table.add_column("worst", justify="right")
    for operation, results in shown.items():
        name = operation
        cells = [_cell([result for result in results if result.dtype == dtype]) for dtype in dtypes]
        if dtypes != [ANY] and {result.dtype for result in results} == {ANY}:
            # A column for the few that have no dtype would not fit beside four dtypes.
            name, cells[0] = f"{operation}, {wording.dtype_name(ANY)}", _cell(results)
        ratios = [result.verdict.worst.ratio for result in results if result.verdict.worst is not None]
        worst = f"{max(ratios):.2g}" if ratios else ""
        table.add_row(name, *(Text(text, style=style) for text, style in cells), *([worst] if whole else []))
    unbounded = console.options.update(max_width=_UNBOUNDED)
    if console.measure(table, options=unbounded).maximum > console.width:
        table.padding = 0
    console.print(table)
    if whole:
        console.print()
        say(console, "worst: error / tolerance; above 1 fails", style="italic")
    elif len(rows) > len(shown):
        console.print()
        others = [result for operation, results in rows.items() if operation not in shown for result in results]
        right = wording.counted(len(rows) - len(shown), "other operation")
        say(console, f"Nothing is wrong in {right}: {sum(result.status == 'pass' for result in others)} passed.")


def _cell(results: list[Result]) -> tuple[str, str]:
    """Return passed of tried in one dtype, red when something is wrong, yellow when nothing was graded."""
    if not results:
        return "", ""
    tried = [result for result in results if result.status not in NOT_GRADED]
    if not tried:
        return "none", "yellow"
    passed = sum(result.status == "pass" for result in tried)
    return f"{passed}/{len(tried)}", "green" if passed == len(tried) else "red"


def _print_counted(count: int, lines: Sequence[str], console: Console) -> None:
    """Print a number, and beside it the lines that it counts, at least one, the first bold."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=_COUNT_WIDTH, justify="right", no_wrap=True)
    grid.add_column()
    for position, line in enumerate(lines):
        number = "" if position else str(count)
        grid.add_row(Text(number, style="bold red"), Text(plain_text(line), style="" if position else "bold"))
    console.print(grid)


def _print_all_known(problem: Problem, console: Console, known: set[str]) -> None:
    """Print all facts of a problem and more of its cases; the words of clauses in `known` are not repeated."""
    by_case = sorted(problem.results, key=lambda result: result.case.id != problem.clearest.case.id)
    results = [result_to_json(result, outputs=False) for result in by_case]
    titles = {result.case.id: result.case.title for result in problem.results}
    entries = [diagnosis_to_json(entry) for entry in problem.diagnosis]
    for entry in entries:
        console.print()
        for line in diagnosis_lines(entry):
            say(console, line, indent=_INDENT)
    failures = shown_failures(results)
    for failure in failures.by_case[:_CASES_SHOWN]:
        console.print()
        _print_case(failure, titles[failure.cases[0]], console, None if any(map(word_to_explain, entries)) else known)
    more = len(failures.by_case) - _CASES_SHOWN
    if more > 0:
        what = "case" if more == 1 else "cases"
        say(console, wording.more(more, what, whole_in="--report FILE.json"), indent=_INDENT)
    for failure in failures.together:
        console.print()
        cases = wording.counted(len(failure.cases), "case")
        say(console, f"{cases} ({', '.join(failure.dtypes)}): {failure.status}", indent=_INDENT, style="bold")
        say(console, failure.ending, indent=_INDENT + 2)
        say(console, wording.names(failure.cases[:_CASES_SHOWN], len(failure.cases)), indent=_INDENT + 2)


def _print_case(failure: Failure, title: str, console: Console, known: set[str] | None) -> None:
    """Print one failing case; the clauses and errata, too, where no clause is known to be broken.

    `known` holds the clauses whose words were printed before; it is None where a clause is known to be broken.
    """
    heading = f"{failure.cases[0]} ({', '.join(failure.dtypes)}): {failure.status}"
    say(console, heading, indent=_INDENT, style="bold")
    say(console, title, indent=_INDENT + 2, style="italic")
    say(console, failure.ending, indent=_INDENT + 2)
    if failure.step is not None:
        say(console, failure.step, indent=_INDENT + 2)
    if known is None:
        return
    say(console, "The case exercises:", indent=_INDENT + 2)
    again = [clause for clause in failure.clauses if clause in known]
    new = [wording.clause_in_words(clause) for clause in failure.clauses if clause not in known]
    for line in (*new, *([", ".join(again)] if again else [])):
        say(console, line, indent=_INDENT + 4)
    known.update(failure.clauses)
    for sentence in filter(None, map(wording.see_also, failure.errata)):
        say(console, sentence, indent=_INDENT + 2)


def _print_not_graded(report: Report, console: Console, *, verbose: bool) -> None:
    """Print the results that were not graded: in one line, or the operations not offered and every other reason."""
    if not verbose:
        line = not_graded_line(report, console.width)
        if line is not None:
            say(console, line, style="yellow")
        return
    offered = report.declaration.operations
    missing = {result.case.operation: None for result in report.results if result.case.operation not in offered}
    reasons = Counter(
        result.verdict.message
        for result in report.results
        if result.status in NOT_GRADED and result.case.operation in offered
    )
    sentences = [f"Not offered: {', '.join(missing)}."] if missing else []
    sentences += [f"{count} not graded: {reason}" for reason, count in reasons.most_common()]
    for sentence in (*sentences, *left_out_sentences(report.left_out)):
        say(console, sentence, style="yellow")


def say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Print text as it is: no markup, no control characters, wrapped under its own indent."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(plain_text(text), style=style), (0, 0, 0, indent)))
