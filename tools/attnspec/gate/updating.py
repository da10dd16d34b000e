"""Writing a baseline anew from a run, with the reasons that people wrote into it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.base.errors import BaselineError
from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY
from attnspec.gate.baseline import NOT_EXPLAINED, Entry, baseline_of, graded, key_of, name_of
from attnspec.gate.grouping import covered, kept_groups, of_offered, proposed_groups, with_reasons_of
from attnspec.grading import RIGHT
from attnspec.reports.wording import not_run_sentence

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from attnspec.gate.baseline import Baseline
    from attnspec.gate.group import Group
    from attnspec.reports.report import Report
    from attnspec.runner import Result

_SHOWN = 3


def updated(old: Baseline | None, report: Report, *, suite_ids: Container[str]) -> Baseline | None:
    """Return the baseline that a run meets exactly, with the reasons written into the old one; None for nothing graded.

    `suite_ids` has the ids of all cases, selected or not. `BaselineError` if the run ended early, or the old baseline
    is about another implementation, or knows cases that the run left out.
    """
    left = not_run_sentence(report.not_run, len(report.results), report.ended_early)
    if left is not None:
        raise BaselineError(f"The run ended early, and a baseline is written from a whole run. {left}")
    if not graded(report.results):
        return None
    if old is not None:
        check_same_implementation(report, old)
        _check_nothing_left_out(report, old, suite_ids)
    results = of_offered(report)
    entries = [
        Entry(*key_of(result), result.status, _reason(result, old))
        for result in results
        if result.status not in RIGHT and result.status != "unsupported"
    ]
    return baseline_of(report, entries, _groups(results, old))


def check_same_implementation(report: Report, baseline: Baseline) -> None:
    """Raise `BaselineError` if the baseline is about another implementation than the report."""
    name = plain_text(report.declaration.name)
    if baseline.name != name:
        raise BaselineError(
            f"The baseline is of {baseline.name!r}, but this is {name!r}. "
            "Give each implementation a baseline of its own, or write the name into the baseline if only that changed."
        )


def _reason(result: Result, old: Baseline | None) -> str:
    """Return the reason that the old baseline gives for a result, if it lists it."""
    entry = None if old is None else old.by_key.get(key_of(result))
    return NOT_EXPLAINED if entry is None else entry.reason


def _groups(results: Sequence[Result], old: Baseline | None) -> tuple[Group, ...]:
    """Return the old groups that still hold, and new ones for the remaining results."""
    if old is None:
        return proposed_groups(results, ())
    kept = kept_groups(old.groups, results)
    proposed = proposed_groups(results, kept)
    if old.format == 1:
        return tuple(replace(group, reason=_reasons_of_members(covered(group, results), old)) for group in proposed)
    still = {group.key for group in kept}
    return (*kept, *with_reasons_of(proposed, [group for group in old.groups if group.key not in still]))


def _reasons_of_members(members: Iterable[Result], old: Baseline) -> str:
    """Return the reasons of a baseline of format 1 for the results of a group, each once."""
    reasons = dict.fromkeys(_reason(result, old) for result in members)
    return "; ".join(reason for reason in reasons if reason not in ("", NOT_EXPLAINED)) or NOT_EXPLAINED


def _check_nothing_left_out(report: Report, baseline: Baseline, suite_ids: Container[str]) -> None:
    """Raise `BaselineError` where the baseline knows more than the run, by its selection, came to."""
    left_out = _left_out(report, baseline, suite_ids)
    if left_out:
        shown = ", ".join(left_out[:_SHOWN]) + (", …" if len(left_out) > _SHOWN else "")
        raise BaselineError(
            f"This run leaves out {len(left_out)} that the baseline knows ({shown}), and an update would forget them. "
            "Give the same --profile, --select and --dtype as then, or remove the baseline first."
        )


def _left_out(report: Report, baseline: Baseline, suite_ids: Container[str]) -> list[str]:
    """Return the cases that the baseline knows and the implementation offers, but the run's selection left out."""
    run = {key_of(result) for result in report.results}
    cases = {result.case.id: result.case for result in report.results}
    whole = [case_id for case_id in baseline.cases if case_id in suite_ids and case_id not in cases]
    answered = baseline.answered or {}
    known = {*baseline.by_key, *((case_id, dtype) for dtype, ids in answered.items() for case_id in ids)}
    pieces = [
        name_of((case_id, dtype))
        for case_id, dtype in sorted(known - run)
        if (case := cases.get(case_id)) is not None
        and dtype in case.runs
        and dtype in (*report.declaration.dtypes, ANY)
    ]
    return whole + pieces
