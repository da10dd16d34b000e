"""Tally of draws."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from attnspec.runner import Result


@dataclass(frozen=True)
class Tally:
    """Tally of the draws at the shapes, or beside them.

    `wrong` includes no answer at all; `ungraded` were answered, but nothing could be graded; `lost` ended the process
    or took too long; `worst` is the largest error / tolerance, infinite where a wrong answer has no numbers.
    """

    draws: int
    passed: int
    wrong: int
    declined: int
    ungraded: int
    lost: int
    worst: float
    first_wrong: str | None

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a document."""
        return {**asdict(self), "worst": self.worst if math.isfinite(self.worst) else None}


NOTHING_ASKED = Tally(0, 0, 0, 0, 0, 0, 0.0, None)
"""The tally of who could not be asked."""


def tally_of(results: Sequence[Result], lost: Collection[str]) -> Tally:
    """Count the outcomes of draws; `lost` are the statuses of those that did not come."""
    statuses = Counter(result.status for result in results)
    wrong = [result for result in results if result.is_wrong]
    ratios = [result.verdict.worst.ratio for result in results if result.verdict.worst is not None]
    if any(result.verdict.worst is None for result in wrong):
        ratios.append(math.inf)
    return Tally(
        draws=len(results),
        passed=statuses["pass"],
        wrong=len(wrong),
        declined=statuses["unsupported"],
        ungraded=len(results) - statuses["pass"] - len(wrong) - statuses["unsupported"],
        lost=sum(statuses[status] for status in lost),
        worst=max(ratios, default=0.0),
        first_wrong=wrong[0].case.id if wrong else None,
    )
