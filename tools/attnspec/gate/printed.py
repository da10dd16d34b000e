"""Gate on a terminal: its failures, other findings, the problems behind failures, then one closing line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.gate.sentences import headline, sections, unexpected_wrong
from attnspec.reports.formats.console import print_problems
from attnspec.reports.problems import problems_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from attnspec.diagnosis import Diagnosis
    from attnspec.gate.finding import Outcome
    from attnspec.runner import Result

_STYLES = {"fails": "bold red", "warns": "bold yellow", "tells": "bold"}


_FAILURES_NAMED = 3
"""Failures that are named where the problems behind them are shown."""


def print_outcome(
    outcome: Outcome,
    console: Console,
    *,
    diagnosis: Sequence[Diagnosis] = (),
    results: Sequence[Result] = (),
    notes: Sequence[str] = (),
    quiet: bool = False,
    verbose: bool = False,
) -> None:
    """Print an outcome; `quiet`: only its closing line; `verbose`: more failures and all facts of each problem.

    `diagnosis` is of the unexpected failures, `results` are all of the run; `notes` stand before the closing line.
    """
    if not quiet:
        for section in sections(outcome):
            shown = section.lines[:_FAILURES_NAMED] if section.of_failures and not verbose else section.lines
            more = section.more + len(section.lines) - len(shown)
            _say(console, section.heading, style=_STYLES[section.weight])
            for line in shown:
                _say(console, line, indent=2)
            if more:
                _say(console, f"… and {more} more; --report FILE.json has every result.", indent=2)
            console.print()
        if outcome.unexpected:
            problems = problems_of(outcome.unexpected, diagnosis)
            _say(console, unexpected_wrong(len(outcome.unexpected)), style="bold red")
            print_problems(problems, whole_of(results), console, verbose=verbose)
            console.print()
        for note in notes:
            _say(console, note)
        if notes:
            console.print()
    _say(console, headline(outcome), style=f"bold {'green' if outcome.is_open else 'red'}")


def _say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(plain_text(text), style=style), (0, 0, 0, indent)))
