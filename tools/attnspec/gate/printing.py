"""Gate in print: its sentences on a terminal, as Markdown for the summary of a CI job, and as annotations of GitHub."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.diagnosis import Diagnosis, diagnose
from attnspec.gate.baseline import FORMAT, NOT_EXPLAINED, Baseline
from attnspec.gate.finding import HEADINGS, Finding, Outcome, Weight
from attnspec.gate.single_results import known_expectation
from attnspec.reports.entries import diagnosis_lines
from attnspec.reports.formats.console import print_problems, say
from attnspec.reports.problems import problems_of, whole_of
from attnspec.reports.report import Gated, Report, diagnosis_to_json
from attnspec.reports.wording import counted, unexpected

if TYPE_CHECKING:
    from rich.console import Console

    from attnspec.runner import Result

_SHOWN = 20
_NEW_CASES_SHOWN = 200


@dataclass(frozen=True)
class Section:
    """Findings of one kind under a heading with their number: a line for each subject, `more` lines left out.

    `of_failures`: they are wrong results, of which the problems behind them say more than their names.
    """

    kind: str
    heading: str
    weight: Weight
    lines: tuple[str, ...]
    more: int
    of_failures: bool


def headline(outcome: Outcome) -> str:
    """Return whether the gate is open, and why, in one line."""
    expected = f", {outcome.expected} not, as expected" if outcome.expected else ""
    if outcome.is_open:
        warned = len(outcome.findings_of_weight("warns"))
        warnings = f" {counted(warned, 'warning')}." if warned else ""
        return f"{outcome.name} passes the gate: {outcome.passed} of {outcome.graded} passed{expected}.{warnings}"
    counts = Counter(finding.kind for finding in outcome.findings_of_weight("fails"))
    reasons = "; ".join(f"{kind}: {count}" for kind, count in counts.items())
    return f"{outcome.name} does not pass the gate ({reasons})."


def sections(outcome: Outcome) -> tuple[Section, ...]:
    """Return the findings by kind, in the order of a report."""
    found: list[Section] = []
    for kind, heading in HEADINGS.items():
        of_kind = [finding for finding in outcome.findings if finding.kind == kind]
        if of_kind:
            lines = _lines(of_kind)
            shown = lines[: _NEW_CASES_SHOWN if kind == "new cases" else _SHOWN]
            of_failures = all(finding.result is not None and finding.result.is_wrong for finding in of_kind)
            more = len(lines) - len(shown)
            found.append(Section(kind, f"{heading} ({len(of_kind)})", of_kind[0].weight, shown, more, of_failures))
    return tuple(found)


def diagnosis_of_unexpected(report: Report, outcome: Outcome) -> tuple[Diagnosis, ...]:
    """Return the diagnosis of the unexpected failures alone: expected ones would blur the picture."""
    unexpected = {result.key for result in outcome.unexpected}
    if not unexpected:
        return ()
    results = [result for result in report.results if not result.is_wrong or result.key in unexpected]
    return report.diagnosis if len(unexpected) == len(report.wrong) else diagnose(results)


def diagnosis_sentences(diagnosis: Sequence[Diagnosis]) -> tuple[str, ...]:
    """Return a diagnosis line by line, harmless."""
    return tuple(plain_text(line) for entry in diagnosis for line in diagnosis_lines(diagnosis_to_json(entry)))


def gated_report(
    report: Report, outcome: Outcome, baseline: Baseline | None, diagnosis: tuple[Diagnosis, ...]
) -> Report:
    """Return a report that says what the gate says: known results with their reasons, and `diagnosis` of the others."""
    unexpected = {result.key for result in outcome.unexpected}
    reasons = {
        result.key: known.reason or NOT_EXPLAINED
        for result in report.results
        if baseline is not None
        and result.key not in unexpected
        and (known := known_expectation(baseline, result.case, result.dtype, result.verdict.message)) is not None
        and known.status == result.status
    }
    # Of what is wrong and does not close the gate, a baseline from before knows nothing.
    reasons |= {
        result.key: _FROM_BEFORE
        for result in report.wrong
        if baseline is not None and result.key not in unexpected and result.key not in reasons
    }
    found = outcome.findings_of_weight("fails")
    failing = tuple((finding.kind, finding.subject, finding.dtype, finding.sentence) for finding in found)
    return replace(report, diagnosis=diagnosis, gated=Gated(outcome.is_open, headline(outcome), reasons, failing))


def baseline_sentences(report: Report, baseline: Baseline, path: str) -> list[str]:
    """Return that the suite is another one than the baseline's, or that the baseline has the format before."""
    said: list[str] = []
    if report.suite_digest != baseline.suite_digest:
        said.append(
            f"The suite is another one than the baseline's: {report.suite_version} ({report.suite_digest[:12]}), "
            f"was {plain_text(baseline.suite_version)} ({baseline.suite_digest[:12]}). New cases are judged by "
            "themselves until --update-baseline takes them in."
        )
    if baseline.format != FORMAT:
        unsupported = sum(entry.status == "unsupported" for entry in baseline.entries)
        said.append(
            f"The baseline {path} has format {baseline.format}, which lists what is unsupported one by one "
            f"({counted(unsupported, 'entry', 'entries')}); --update-baseline writes format {FORMAT}, which has groups."
        )
    return said


def _lines(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return a line for each subject, with its dtypes and the sentence of the first."""
    subjects: dict[str, list[Finding]] = {}
    for finding in findings:
        subjects.setdefault(finding.subject or finding.sentence, []).append(finding)
    lines: list[str] = []
    for first, *others in subjects.values():
        dtypes = ", ".join(finding.dtype for finding in (first, *others) if finding.dtype is not None)
        named = f"{first.subject} ({dtypes})" if dtypes else first.subject
        lines.append(f"{named}: {first.sentence}" if first.subject else first.sentence)
    return tuple(lines)


_FROM_BEFORE = "the baseline was written before this was graded; --update-baseline takes it in"
"""Reason for a failure that the baseline lists as unsupported, for an argument that a default does not need."""

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
            say(console, unexpected(len(outcome.unexpected)), style="bold red")
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
        for group in outcome.groups[:_GROUPS_SHOWN]:
            lines.append(f"- {prose(f'{group.title}: {group.count} ({group.reason or NOT_EXPLAINED})')}")
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
