"""What a gate says, in the order in which it matters, for console and Markdown alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.diagnosis import diagnose
from attnspec.gate.baseline import NOT_EXPLAINED
from attnspec.gate.finding import HEADINGS
from attnspec.plain_text import plain_text
from attnspec.reports.entries import diagnosis_lines
from attnspec.reports.report_json import diagnosis_to_json
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.diagnosis import Diagnosis
    from attnspec.gate.baseline import Baseline, Entry, Key
    from attnspec.gate.finding import Finding, Outcome, Weight
    from attnspec.reports import Report

_SHOWN = 20
_NEW_CASES_SHOWN = 200


@dataclass(frozen=True)
class Section:
    """Findings of one kind.

    Attributes
    ----------
    heading
        The kind in words, with the number of findings.
    weight
        Whether they fail the gate.
    lines
        A line for each subject, the first of many.
    more
        How many lines are left out.
    of_failures
        Whether they are wrong results, of which the problems behind them tell more than their names.
    """

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
            found.append(Section(f"{heading} ({len(of_kind)})", of_kind[0].weight, shown, more, of_failures))
    return tuple(found)


def unexpected_wrong(count: int) -> str:
    """Return how many results went wrong unexpectedly, as the heading over the problems that they add up to."""
    return f"{counted(count, 'unexpected failure')}:"


def diagnosis_of_unexpected(report: Report, outcome: Outcome) -> tuple[Diagnosis, ...]:
    """Return what explains the unexpected failures, by themselves: those that are expected would blur the picture."""
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


def suite_sentences(report: Report, baseline: Baseline | None) -> tuple[str, ...]:
    """Return that the suite is another one than the baseline's, if it is."""
    if baseline is None or report.suite_digest == baseline.suite_digest:
        return ()
    return (
        f"The suite is another one than the baseline's: {report.suite_version} ({report.suite_digest[:12]}), "
        f"was {plain_text(baseline.suite_version)} ({baseline.suite_digest[:12]}). New cases are judged by themselves "
        "until --update-baseline takes them in.",
    )


def update_sentence(new: Baseline, old: Baseline | None, path: str) -> str:
    """Return what an update changed."""
    before: Mapping[Key, Entry] = old.by_key if old is not None else {}
    added = sum(entry.key not in before for entry in new.entries)
    removed = len(before.keys() - new.by_key.keys())
    changed = sum(entry.key in before and before[entry.key].status != entry.status for entry in new.entries)
    changes = ", ".join(
        f"{count} {what}" for count, what in ((added, "added"), (removed, "removed"), (changed, "changed")) if count
    )
    unexplained = sum(entry.reason in ("", NOT_EXPLAINED) for entry in new.entries)
    return (
        f"The baseline {path} is written: {counted(len(new.entries), 'entry', 'entries')}"
        f"{f' ({changes})' if changes else ''}, {counted(new.graded, 'graded result')}."
        + (f" Say why beside the {counted(unexplained, 'entry', 'entries')} without a reason." if unexplained else "")
    )


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
