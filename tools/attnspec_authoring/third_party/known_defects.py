"""Known defects of third-party implementations, and which of their wrong results these excuse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnspec.grading import WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Case
    from attnspec_authoring.results import Defect
    from attnspec_authoring.third_party.running import Outcome


@dataclass(frozen=True)
class Wrong:
    """A wrong result that no known defect excuses."""

    implementation: str
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Findings:
    """Findings about outcomes: which wrong results known defects excuse.

    `seen` has the defect by (implementation, case id, dtype) of excused results; `gone` are (defect, implementation)
    that did not show; `missing` could not be run, or graded nothing.
    """

    seen: Mapping[tuple[str, str, str], str]
    failures: tuple[Wrong, ...]
    gone: tuple[tuple[Defect, str], ...]
    missing: tuple[Outcome, ...]

    @property
    def is_good(self) -> bool:
        """Whether every implementation ran, and did nothing wrong that is not known."""
        return not self.failures and not self.missing


def judge(outcomes: Sequence[Outcome], defects: Sequence[Defect], cases: Mapping[str, Case]) -> Findings:
    """Judge the outcomes, one for each implementation, against the known defects; cases by id."""
    seen: dict[tuple[str, str, str], str] = {}
    failures: list[Wrong] = []
    for outcome in outcomes:
        possible = [defect for defect in defects if defect.is_in(outcome.name, outcome.version)]
        for result in outcome.results:
            if result["status"] not in WRONG:
                continue
            excuse = next((defect for defect in possible if defect.excuses(result, cases[result["case"]])), None)
            if excuse is None:
                failures.append(Wrong(outcome.name, result))
            else:
                seen[outcome.name, result["case"], result["dtype"]] = excuse.id
    shown = Counter((defect, implementation) for (implementation, _, _), defect in seen.items())
    gone = tuple(
        (defect, outcome.name)
        for defect in defects
        for outcome in outcomes
        if outcome.name in defect.implementations and outcome.problem is None and not shown[defect.id, outcome.name]
    )
    missing = tuple(outcome for outcome in outcomes if not outcome.has_passed)
    return Findings(seen, tuple(failures), gone, missing)
