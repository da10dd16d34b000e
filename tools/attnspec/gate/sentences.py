"""Sentences of a gate, in order of importance, for console and Markdown alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.base.plain_text import plain_text
from attnspec.diagnosis import diagnose
from attnspec.gate.baseline import FORMAT, NOT_EXPLAINED, name_of
from attnspec.gate.finding import HEADINGS
from attnspec.reports.entries import diagnosis_lines
from attnspec.reports.report_json import diagnosis_to_json
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.diagnosis import Diagnosis
    from attnspec.gate.baseline import Baseline, Entry, Key
    from attnspec.gate.finding import Finding, Kind, Outcome, Weight
    from attnspec.gate.group import Group
    from attnspec.reports.report import Report

_SHOWN = 20
_NAMED = 6
_NEW_CASES_SHOWN = 200


@dataclass(frozen=True)
class Section:
    """Findings of one kind under a heading with their number: a line for each subject, `more` lines left out.

    `of_failures`: they are wrong results, of which the problems behind them say more than their names.
    """

    kind: Kind
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


def suite_sentences(report: Report, baseline: Baseline | None) -> tuple[str, ...]:
    """Return that the suite is another one than the baseline's, if it is."""
    if baseline is None or report.suite_digest == baseline.suite_digest:
        return ()
    return (
        f"The suite is another one than the baseline's: {report.suite_version} ({report.suite_digest[:12]}), "
        f"was {plain_text(baseline.suite_version)} ({baseline.suite_digest[:12]}). New cases are judged by themselves "
        "until --update-baseline takes them in.",
    )


def format_sentences(baseline: Baseline | None, path: str) -> tuple[str, ...]:
    """Return that a baseline has the format before, and the command that would change it."""
    if baseline is None or baseline.format == FORMAT:
        return ()
    unsupported = sum(entry.status == "unsupported" for entry in baseline.entries)
    return (
        f"The baseline {path} has format {baseline.format}, which lists what is unsupported one by one "
        f"({counted(unsupported, 'entry', 'entries')}); --update-baseline writes format {FORMAT}, which has groups.",
    )


def update_sentences(new: Baseline, old: Baseline | None, path: str) -> tuple[str, ...]:
    """Return sentences on an update: the file written, and all that it accepts from now on."""
    before: Mapping[Key, Entry] = old.by_key if old is not None else {}
    wrong_before = {key for key, entry in before.items() if entry.status != "unsupported"}
    added = [entry for entry in new.entries if entry.key not in wrong_before]
    failures = _changes(
        added=len(added),
        removed=len(wrong_before - new.by_key.keys()),
        changed=sum(entry.key in wrong_before and before[entry.key].status != entry.status for entry in new.entries),
    )
    groups_before = {group.key: group for group in old.groups} if old is not None else {}
    added_groups = [group for group in new.groups if group.key not in groups_before]
    groups = _changes(
        added=len(added_groups),
        removed=len(groups_before.keys() - {group.key for group in new.groups}),
        changed=sum(
            group.key in groups_before and groups_before[group.key].count != group.count for group in new.groups
        ),
    )
    reasons = [entry.reason for entry in new.entries] + [group.reason for group in new.groups]
    unexplained = sum(reason in ("", NOT_EXPLAINED) for reason in reasons)
    was = f" It had format {old.format} and has format {FORMAT} now." if old and old.format != FORMAT else ""
    sentences = [
        f"The baseline {path} is written: {counted(len(new.entries), 'known failure')}{failures}, "
        f"{counted(len(new.groups), 'group')} of what is unsupported{groups}, {counted(new.graded, 'graded result')}."
        + was
        + (f" Say why beside the {unexplained} without a reason." if unexplained else "")
    ]
    if added:
        sentences.append(f"New among the known failures: {_some([name_of(entry.key) for entry in added])}.")
    if added_groups:
        named = [f"{group.title} ({group.count})" for group in added_groups]
        sentences.append(f"New groups: {_some(named, shown=_SHOWN)}.")
    lost = [] if old is None else _answered_before(new, old)
    if lost:
        sentences.append(f"Not unsupported before, and unsupported now: {_some(lost)}.")
    return tuple(sentences)


def group_line(group: Group) -> str:
    """Return the number and names of results that a group covers, and the reason."""
    return f"{group.title}: {group.count} ({group.reason or NOT_EXPLAINED})"


def _changes(*, added: int, removed: int, changed: int) -> str:
    reported = ", ".join(
        f"{count} {what}" for count, what in ((added, "added"), (removed, "removed"), (changed, "changed")) if count
    )
    return f" ({reported})" if reported else ""


def _some(names: Sequence[str], *, shown: int = _NAMED) -> str:
    """Return the first of many names, and how many follow."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f", and {rest} more" if rest > 0 else "")


def _answered_before(new: Baseline, old: Baseline) -> list[str]:
    """Return the names of the cases, in their dtypes, that were answered once and are not any more."""
    if old.answered is None or new.answered is None:
        return []
    return [
        name_of((case_id, dtype))
        for dtype, ids in old.answered.items()
        for case_id in sorted(ids & (new.cases.keys() - new.answered.get(dtype, frozenset())))
    ]


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
