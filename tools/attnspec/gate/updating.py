"""Writing a baseline anew from a run, without losing what people wrote into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.dtypes import ANY
from attnspec.errors import BaselineError
from attnspec.gate.baseline import baseline_of, name_of, with_reasons_of
from attnspec.plain_text import plain_text
from attnspec.reports.wording import not_run_sentence

if TYPE_CHECKING:
    from collections.abc import Container

    from attnspec.gate.baseline import Baseline
    from attnspec.reports import Report

_SHOWN = 3


def updated(old: Baseline | None, report: Report, *, suite_ids: Container[str]) -> Baseline | None:
    """Return the baseline that a run meets exactly, with the reasons of the old one; None if nothing was graded.

    Parameters
    ----------
    old
        The present baseline; None if there is none.
    report
        The run.
    suite_ids
        The ids of all cases of the suite, selected or not.

    Raises
    ------
    BaselineError
        If the run ended early, or the old baseline is about another implementation, or knows what the run left out.
    """
    left = not_run_sentence(report.not_run, len(report.results), report.ended_early)
    if left is not None:
        raise BaselineError(f"The run ended early, and a baseline is written from a whole run. {left}")
    new = baseline_of(report)
    if not new.graded:
        return None
    if old is None:
        return new
    check_same_implementation(report, old)
    left_out = _left_out(report, old, suite_ids)
    if left_out:
        shown = ", ".join(left_out[:_SHOWN]) + (", …" if len(left_out) > _SHOWN else "")
        raise BaselineError(
            f"This run leaves out {len(left_out)} that the baseline knows ({shown}), and an update would forget them. "
            "Give the same --profile, --select and --dtype as then, or remove the baseline first."
        )
    return with_reasons_of(new, old)


def check_same_implementation(report: Report, baseline: Baseline) -> None:
    """Raise `BaselineError` if the baseline is about another implementation than the report."""
    name = plain_text(report.declaration.name)
    if baseline.name != name:
        raise BaselineError(
            f"The baseline is of {baseline.name!r}, but this is {name!r}. "
            "Give each implementation a baseline of its own, or write the name into the baseline if only that changed."
        )


def _left_out(report: Report, baseline: Baseline, suite_ids: Container[str]) -> list[str]:
    """Return what the baseline knows and the implementation offers, but the run left out, by its selection."""
    run = {(result.case.id, result.dtype) for result in report.results}
    cases = {result.case.id: result.case for result in report.results}
    whole = [case_id for case_id in baseline.cases if case_id in suite_ids and case_id not in cases]
    pieces = [
        name_of(entry.key)
        for entry in baseline.entries
        if entry.key not in run
        and (case := cases.get(entry.case)) is not None
        and entry.dtype in case.runs
        and entry.dtype in (*report.declaration.dtypes, ANY)
    ]
    return whole + pieces
