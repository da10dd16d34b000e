"""Summary of results: statuses, clauses, numbers, and whether the implementation conforms."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from attnspec.grading import STATUSES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.runner import Result

Conformance = Literal["conforms", "conforms in part", "does not conform"]


@dataclass(frozen=True)
class Summary:
    """Counts of (case, dtype) by status and conformance, over all results or over one profile or family.

    `clauses_graded` by a passing case, of all `clauses` of the selected cases. `elements_not_graded`: their tolerance
    says nothing, or declared conventions leave them open. `median`: (upper) median of the results' median error /
    tolerance in their first output. `fused` of the `unfused` passes in half precision would pass the fused grade too.

    ``conforms``: every clause graded, nothing wrong; ``conforms in part``: some clauses graded, nothing wrong; ``does
    not conform``: something wrong, or nothing graded.
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


def summarise(results: Sequence[Result]) -> Summary:
    """Return counts and conformance over some results."""
    seen = Counter(result.status for result in results)
    counts = {status: seen[status] for status in STATUSES if seen[status]}
    clauses = {clause for result in results for clause in result.case.clauses}
    graded = {clause for result in results if result.status == "pass" for clause in result.clauses}
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
