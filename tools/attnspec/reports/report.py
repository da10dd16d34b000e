"""The report of one run: everything that console, JSON, notebook and gate show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from attnspec.comparison import STATUSES
from attnspec.contract import OPERATIONS
from attnspec.families import FAMILIES
from attnspec.reports.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.adapters import Declaration
    from attnspec.diagnosis import Diagnosis
    from attnspec.runner import Result

Conformance = Literal["conforms", "conforms in part", "does not conform"]


@dataclass(frozen=True)
class Summary:
    """Counts and conformance, over all results or over one profile.

    Attributes
    ----------
    counts
        Status to number of (case, dtype).
    clauses_graded, clauses
        How many clauses were graded by a passing case, and how many the selected cases exercise.
    elements_graded, elements_not_graded
        How many numbers were compared, and how many were not, because their tolerance says nothing or because the
        declared conventions leave them open.
    median
        (Upper) median, over the results that were compared, of the median of error / tolerance in their first output.
    fused, unfused
        Of the results in half precision that passed the unfused grade: how many would pass the fused grade too, and
        how many there are.
    conformance
        ``conforms``: every clause graded, nothing wrong; ``conforms in part``: some clauses graded, nothing wrong;
        ``does not conform``: something wrong, or nothing graded.
    """

    counts: Mapping[str, int]
    clauses_graded: int
    clauses: int
    elements_graded: int
    elements_not_graded: int
    median: float | None
    fused: int
    unfused: int
    conformance: Conformance


@dataclass(frozen=True)
class Report:
    """What one run came to.

    Attributes
    ----------
    declaration
        What the implementation says about itself.
    conventions
        The conventions under which it was graded.
    suite_version, suite_digest
        Which suite.
    environment
        Python, NumPy and platform of the harness.
    results
        A result for each (case, dtype), but for those of families that are left out.
    diagnosis
        What explains the failures.
    left_out
        Family to the number of its cases, for the families of which nothing is offered.
    invocation
        How the implementation was reached.
    not_run
        How many (case, dtype) have no result, where the run ended early; None where it ran to its end. What ended early
        does not conform, whatever passed before.
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

    @property
    def conforms(self) -> bool:
        """Whether nothing is wrong and something was graded."""
        return self.summary.conformance != "does not conform"

    @property
    def wrong(self) -> tuple[Result, ...]:
        """The results at which the implementation did something wrong."""
        return tuple(result for result in self.results if result.is_wrong)

    @cached_property
    def summary(self) -> Summary:
        """Counts and conformance over all results."""
        return self._summarise(self.results)

    @cached_property
    def by_profile(self) -> Mapping[str, Summary]:
        """Counts and conformance of each profile."""
        profiles = sorted({result.case.profile for result in self.results})
        return {
            profile: self._summarise(tuple(result for result in self.results if result.case.profile == profile))
            for profile in profiles
        }

    @cached_property
    def by_family(self) -> Mapping[str, Summary]:
        """Counts and conformance of each family that is not left out, in the order of the spec."""
        families = {OPERATIONS[result.case.operation].family for result in self.results}
        return {
            family: self._summarise(
                tuple(result for result in self.results if OPERATIONS[result.case.operation].family == family)
            )
            for family in FAMILIES
            if family in families
        }

    def _summarise(self, results: tuple[Result, ...]) -> Summary:
        summary = summarise(results)
        return summary if self.not_run is None else replace(summary, conformance="does not conform")

    def _repr_html_(self) -> str:
        from attnspec.reports.notebook import notebook_html

        return notebook_html(self)


def summarise(results: tuple[Result, ...]) -> Summary:
    """Count statuses and clauses."""
    seen = Counter(result.status for result in results)
    counts = {status: seen[status] for status in STATUSES if seen[status]}
    clauses = {clause for result in results for clause in result.case.clauses}
    graded = {clause for result in results if result.status == "pass" for clause in result.case.clauses}
    conformance: Conformance = "does not conform"
    if not any(result.is_wrong for result in results) and any(result.establishes for result in results):
        conformance = "conforms" if graded == clauses else "conforms in part"
    medians = sorted(result.verdict.median for result in results if result.verdict.median is not None)
    fused = [result.verdict.fused for result in results if result.status == "pass" and result.verdict.fused is not None]
    return Summary(
        counts=counts,
        clauses_graded=len(graded),
        clauses=len(clauses),
        elements_graded=sum(result.verdict.graded for result in results),
        elements_not_graded=sum(result.verdict.ungraded for result in results),
        median=medians[len(medians) // 2] if medians else None,
        fused=sum(fused),
        unfused=len(fused),
        conformance=conformance,
    )
