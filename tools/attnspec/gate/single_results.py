"""Single results beside a baseline, for a test tool that makes a test of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from attnspec.base import __version__
from attnspec.base.plain_text import plain_text
from attnspec.gate.baseline import NOT_EXPLAINED, Baseline
from attnspec.gate.comparison import Comparison
from attnspec.gate.decision import Demands, judge
from attnspec.grading import WRONG, Status
from attnspec.reports.entries import is_of_run
from attnspec.reports.report import Report
from attnspec.runner.invariance import invariance_failures
from attnspec.runner.of_run import layer_failures
from attnspec.runner.systematic import systematic_failures

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.gate.finding import Finding
    from attnspec.runner import Result
    from attnspec.runner.invariance import Invariance
    from attnspec.runner.systematic import SystematicError
    from attnspec.targets import Declaration

_OF_A_WHOLE_RUN = ("fewer graded", "nothing graded", "not run")
"""Findings of a run of all cases, which one of some cases cannot have."""


class Known(NamedTuple):
    """Expectation of a result that is not to pass: ``unsupported`` or a wrong status, and a reason, possibly empty."""

    status: Status
    reason: str


def known_expectation(baseline: Baseline, case: Case, dtype: str, said: str = "") -> Known | None:
    """Return a baseline's expectation of a case in a dtype or ``any``; None where the case is to pass.

    `said` is the message when it was not graded, if it was run already: some groups can be recognised by this alone.
    Without it, the reason of a case that only such groups may name is empty.
    """
    entry = baseline.by_key.get((case.id, dtype))
    if entry is not None:
        return Known(entry.status, entry.reason)
    if case.id in baseline.cases and case.operation not in baseline.operations:
        return Known("unsupported", f"{case.operation} is not offered")
    if not baseline.has_seen(case, dtype) or not baseline.was_unsupported((case.id, dtype)):
        return None
    words = plain_text(said)
    named = (group for group in baseline.groups if group.covers(case, dtype, words))
    return Known("unsupported", next((group.reason for group in named), ""))


class BesideBaseline:
    """Implementation beside its baseline; `conventions` of the command go over declared ones.

    `BaselineError` if the baseline is about another implementation.
    """

    def __init__(self, baseline: Baseline, declaration: Declaration, conventions: Mapping[str, str]) -> None:
        self._baseline = baseline
        self._declaration = declaration
        self._conventions = {**declaration.conventions, **conventions}
        self._entries = baseline.by_key
        self.contradictions({}, {})

    def expected_failure(self, case_id: str, dtype: str) -> str | None:
        """Return why a (case, dtype) is expected to go wrong; None where it is not."""
        entry = self._entries.get((case_id, dtype))
        return entry.reason if entry is not None and entry.status in WRONG else None

    def reason_of(self, result: Result) -> str | None:
        """Return the baseline's written reason beside a result; None where there is none."""
        known = known_expectation(self._baseline, result.case, result.dtype, result.verdict.message)
        return None if known is None or known.reason == NOT_EXPLAINED else known.reason or None

    def contradicts(self, result: Result) -> Finding | None:
        """Return why a result differs from the baseline's expectation; None where it is as expected."""
        subject, comparison = result.key, Comparison(self._report(result), self._baseline, "fails")
        return next((found for found in comparison.of_results() if (found.subject, found.dtype) == subject), None)

    def contradicts_run(
        self, errors: tuple[SystematicError, ...], in_parts: tuple[Invariance, ...] = ()
    ) -> tuple[Finding, ...]:
        """Return how what is of a whole run differs from the baseline's expectation: what was measured, and checks."""
        measured = (*systematic_failures(errors), *invariance_failures(in_parts))
        failures = (*measured, *layer_failures(self._declaration.layer_checks))
        report = replace(self._report(*failures), systematic=errors, invariance=in_parts)
        comparison = Comparison(report, self._baseline, "fails")
        found = (*comparison.of_results(), *comparison.entries_without_result())
        return tuple(finding for finding in found if is_of_run(finding.subject))

    def contradictions(self, suite_ids: Mapping[str, object], retired: Mapping[str, str]) -> tuple[Finding, ...]:
        """Return failures for any results: of the declaration, and of entries without a case.

        Parameters are as for `attnspec.gate.judge`.
        """
        outcome = judge(self._report(), self._baseline, Demands(), suite_ids=suite_ids, retired=retired)
        return tuple(one for one in outcome.findings_of_weight("fails") if one.kind not in _OF_A_WHOLE_RUN)

    def _report(self, *results: Result) -> Report:
        return Report(
            declaration=self._declaration,
            conventions=self._conventions,
            suite_version=__version__,
            suite_digest="",
            environment={},
            results=results,
            diagnosis=(),
        )
