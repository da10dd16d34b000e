"""Sentences of a gate, in order of importance, for console and Markdown alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.diagnosis import diagnose
from attnspec.gate.baseline import FORMAT, NOT_EXPLAINED
from attnspec.gate.finding import HEADINGS
from attnspec.reports.entries import diagnosis_lines
from attnspec.reports.report import diagnosis_to_json
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.diagnosis import Diagnosis
    from attnspec.gate.baseline import Baseline
    from attnspec.gate.finding import Finding, Outcome, Weight
    from attnspec.gate.group import Group
    from attnspec.reports.report import Report

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
        warned = len(outcome.of_weight("warns"))
        warnings = f" {counted(warned, 'warning')}." if warned else ""
        return f"{outcome.name} passes the gate: {outcome.passed} of {outcome.graded} passed{expected}.{warnings}"
    counts: dict[str, int] = {}
    for finding in outcome.of_weight("fails"):
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
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


def unexpected_wrong(count: int) -> str:
    """Return how many results went wrong unexpectedly, as the heading over the problems that they add up to."""
    return f"{counted(count, 'unexpected failure')}:"


def diagnosis_of_unexpected(report: Report, outcome: Outcome) -> tuple[Diagnosis, ...]:
    """Return the diagnosis of the unexpected failures alone: expected ones would blur the picture."""
    unexpected = {(result.case.id, result.dtype) for result in outcome.unexpected}
    if not unexpected:
        return ()
    results = [
        result for result in report.results if not result.is_wrong or (result.case.id, result.dtype) in unexpected
    ]
    return report.diagnosis if len(unexpected) == len(report.wrong) else diagnose(results)


def diagnosis_sentences(diagnosis: Sequence[Diagnosis]) -> tuple[str, ...]:
    """Return a diagnosis line by line, harmless."""
    return tuple(plain_text(line) for entry in diagnosis for line in diagnosis_lines(diagnosis_to_json(entry)))


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


def group_line(group: Group) -> str:
    """Return the number and names of results that a group covers, and the reason."""
    return f"{group.title}: {group.count} ({group.reason or NOT_EXPLAINED})"


def _lines(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return a line for each subject, with its dtypes and the sentence of the first."""
    subjects: dict[str, list[Finding]] = {}
    for finding in findings:
        subjects.setdefault(finding.subject or finding.sentence, []).append(finding)
    return tuple(_line(of_subject) for of_subject in subjects.values())


def _line(findings: Sequence[Finding]) -> str:
    first = findings[0]
    if not first.subject:
        return first.sentence
    dtypes = ", ".join(finding.dtype for finding in findings if finding.dtype is not None)
    return f"{first.subject}{f' ({dtypes})' if dtypes else ''}: {first.sentence}"
