"""Gate in print: on a terminal, as Markdown for the summary of a CI job, and as annotations of GitHub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.gate.finding import HEADINGS
from attnspec.gate.sentences import group_line, headline, sections, unexpected_wrong
from attnspec.reports.formats.console import print_problems, say
from attnspec.reports.problems import problems_of, whole_of
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from attnspec.diagnosis import Diagnosis
    from attnspec.gate.finding import Outcome
    from attnspec.runner import Result

_STYLES = {"fails": "bold red", "warns": "bold yellow", "notes": "bold"}

_FAILURES_NAMED = 3
"""Failures that are named where the problems behind them are shown."""

_GROUPS_SHOWN = 40

_MOST = 10
"""GitHub shows ten errors of a step, and drops the others without a word."""

_LONGEST = 1_000


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
            say(console, section.heading, style=_STYLES[section.weight])
            for line in shown:
                say(console, line, indent=2)
            if more:
                say(console, f"… and {more} more; --report FILE.json has every result.", indent=2)
            console.print()
        if outcome.unexpected:
            problems = problems_of(outcome.unexpected, diagnosis)
            say(console, unexpected_wrong(len(outcome.unexpected)), style="bold red")
            print_problems(problems, whole_of(results), console, verbose=verbose)
            console.print()
        for note in notes:
            say(console, note)
        if notes:
            console.print()
    say(console, headline(outcome), style=f"bold {'green' if outcome.is_open else 'red'}")


def outcome_markdown(outcome: Outcome, *, notes: Sequence[str] = ()) -> str:
    """Return an outcome as Markdown that ends with an empty line and escapes all messages; `notes` stand at the end."""
    from attnspec.reports.formats.markdown import prose

    lines = [f"### attnspec gate: {'open' if outcome.is_open else 'closed'}", "", prose(headline(outcome)), ""]
    for section in sections(outcome):
        lines += [f"**{prose(section.heading)}**", ""]
        lines += [f"- {prose(line)}" for line in section.lines]
        if section.more:
            lines.append(f"- … and {section.more} more")
        lines.append("")
    if outcome.groups:
        count = counted(len(outcome.groups), "group")
        lines += ["<details>", f"<summary>Unsupported, as the baseline says: {count}</summary>", ""]
        lines += [f"- {prose(group_line(group))}" for group in outcome.groups[:_GROUPS_SHOWN]]
        if len(outcome.groups) > _GROUPS_SHOWN:
            lines.append(f"- … and {len(outcome.groups) - _GROUPS_SHOWN} more")
        lines += ["", "</details>", ""]
    lines += [line for note in notes for line in (prose(note), "")]
    return "\n".join([*lines, ""])


def github_annotations(outcome: Outcome) -> tuple[str, ...]:
    """Return a line for each failure, at most ten; the last one counts the rest."""
    failing = [section for section in sections(outcome) if section.weight == "fails"]
    errors = [_error(HEADINGS[section.kind], line) for section in failing for line in section.lines]
    count = len(errors) + sum(section.more for section in failing)
    if count <= _MOST:
        return tuple(errors)
    rest = f"{count - _MOST + 1} more; the summary of the job has them."
    return (*errors[: _MOST - 1], _error("And more", rest))


def _error(title: str, message: str) -> str:
    """Return the command that shows an error; nothing in its texts ends it or starts another one."""
    shown = plain_text(message, longest=_LONGEST).replace("%", "%25")
    named = f"attnspec: {title}".replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::error title={named}::{shown}"
