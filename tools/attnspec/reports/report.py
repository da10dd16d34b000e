"""Report of one run, and the document that machines and all other reports read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attnspec.contract import FAMILIES, OPERATIONS
from attnspec.reports.invocation import Invocation, invocation_to_json
from attnspec.reports.report_json import (
    FORMAT,
    declarations_to_json,
    diagnosis_to_json,
    result_to_json,
    summary_to_json,
)
from attnspec.reports.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from attnspec.diagnosis import Declarations, Diagnosis
    from attnspec.reports.summary import Summary
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner import Result
    from attnspec.targets import Declaration


@dataclass(frozen=True, repr=False)
class Report:
    """Report of one run.

    Attributes
    ----------
    declaration
        Declaration of the implementation.
    conventions
        The conventions under which it was graded.
    suite_version, suite_digest
        Which suite.
    environment
        Python, NumPy and platform of the harness.
    results
        A result for each (case, dtype), without families that are left out.
    diagnosis
        Diagnoses of the failures.
    left_out
        Family to the number of its cases, for the families of which nothing is offered.
    invocation
        How the implementation was reached.
    not_run
        How many (case, dtype) have no result, where the run ended early; None where it reached its end. Ended early, a
        run does not conform, whatever passed before.
    ended_early
        Why it ended early, where it did.
    probes
        How often the implementation was called again, to measure what it computes; None where it was not.
    could_be_declared
        Declarations under which most failures would be none; None where there are none.
    """

    declaration: Declaration
    conventions: Mapping[str, str]
    suite_version: str
    suite_digest: str
    environment: Mapping[str, str]
    results: tuple[Result, ...]
    diagnosis: tuple[Diagnosis, ...]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    invocation: Invocation = field(default_factory=Invocation)
    not_run: int | None = None
    ended_early: EndedEarly | None = None
    probes: int | None = None
    could_be_declared: Declarations | None = None

    @property
    def conforms(self) -> bool:
        """Whether nothing is wrong and something was graded."""
        return self.summary.conformance != "does not conform"

    @property
    def wrong(self) -> tuple[Result, ...]:
        """The results at which the implementation did something wrong."""
        return tuple(result for result in self.results if result.is_wrong)

    @property
    def cases(self) -> int:
        """Number of cases that were run, or tried."""
        return len({result.case.id for result in self.results})

    @cached_property
    def summary(self) -> Summary:
        """Counts and conformance over all results."""
        return self._summarise(self.results)

    @cached_property
    def by_profile(self) -> Mapping[str, Summary]:
        """Counts and conformance of each profile."""
        return self._summaries(lambda result: result.case.profile, sorted)

    @cached_property
    def by_family(self) -> Mapping[str, Summary]:
        """Counts and conformance of each family that is not left out, in the order of the spec."""
        return self._summaries(
            lambda result: OPERATIONS[result.case.operation].family,
            lambda found: [family for family in FAMILIES if family in found],
        )

    def _summaries(
        self, part_of: Callable[[Result], str], ordered: Callable[[Collection[str]], Iterable[str]]
    ) -> Mapping[str, Summary]:
        """Return counts and conformance of each part, in an order of the parts."""
        parts: dict[str, list[Result]] = {}
        for result in self.results:
            parts.setdefault(part_of(result), []).append(result)
        if len(parts) == 1:
            return dict.fromkeys(parts, self.summary)
        return {part: self._summarise(parts[part]) for part in ordered(parts)}

    def _summarise(self, results: list[Result] | tuple[Result, ...]) -> Summary:
        summary = summarise(results)
        return summary if self.not_run is None else replace(summary, conformance="does not conform")

    def __repr__(self) -> str:
        """Return the verdict in three lines: implementation, suite and environment; arrays are never printed."""
        from attnspec.reports import wording
        from attnspec.reports.entries import verdict

        name = wording.shown_name(self.declaration.name, self.declaration.version)
        made_by = wording.made_by(self.suite_version, self.suite_digest, self.cases, self.environment)
        operations = ", ".join(self.declaration.operations) or "no operation"
        return "\n".join(
            (
                f"Report: {verdict(name, summary_to_json(self.summary), self.not_run)}",
                f"It offers {operations}, in {', '.join(self.declaration.dtypes)}.",
                f"By {made_by}.",
            )
        )

    def _repr_html_(self) -> str:
        from attnspec.reports.notebook import notebook_html

        return notebook_html(report_to_json(self))


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON types, following ``spec/schemas/report.schema.json``."""
    declaration = report.declaration
    return {
        "format": FORMAT,
        "suite": {
            "version": report.suite_version,
            "digest": report.suite_digest,
            "cases": report.cases,
        },
        "implementation": {
            "name": declaration.name,
            "version": declaration.version,
            "adapter": declaration.adapter,
            "conventions": dict(report.conventions),
            **({"without": [*declaration.without]} if declaration.without else {}),
            **({} if declaration.requested_in is None else {"asked_in": declaration.requested_in}),
        },
        "invocation": invocation_to_json(report.invocation),
        "environment": dict(report.environment),
        "results": [result_to_json(result) for result in report.results],
        "diagnosis": [diagnosis_to_json(entry) for entry in report.diagnosis],
        "summary": {
            **summary_to_json(report.summary),
            "profiles": {name: summary_to_json(summary) for name, summary in report.by_profile.items()},
            "families": {name: summary_to_json(summary) for name, summary in report.by_family.items()},
        },
        "left_out": dict(report.left_out),
        **({} if report.not_run is None else {"not_run": report.not_run}),
        **({} if report.ended_early is None else {"ended_early": report.ended_early}),
        **({} if report.probes is None else {"probes": report.probes}),
        "could_be_declared": None
        if report.could_be_declared is None
        else declarations_to_json(report.could_be_declared),
        "count": len(report.results),
    }
