"""Tally of draws, and the share of large ones that is compared with values."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attnspec.cases import Case
from attnspec.runner import Result
from attnspec_draws.judge.shapes import ROWS


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


NOTHING_DRAWN = Tally(0, 0, 0, 0, 0, 0, 0.0, None)
"""Tally of a candidate that could not be called."""


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


_EACH_EVENLY = 3
"""One of so many rows that are drawn is drawn from all alike, as spec/draws.md says."""

SURE = 0.95
"""How likely it is that a wrong share is found, where it is said that it would be."""


@dataclass(frozen=True)
class Sampled:
    """Sampled share of large draws: `rows` of an output out of `of`, in the draw with the smallest share.

    `evenly` of these are drawn from all rows alike, and `evenly_in_all` in all draws together, each of which has a
    sample of its own. The others are last ones of heads, first ones, and those at borders of tiles, where errors are
    likelier.
    """

    rows: int
    of: int
    evenly: int
    draws: int
    evenly_in_all: int

    @property
    def found_share(self) -> float:
        """Which share of the rows must be wrong in one draw, wherever they are, to be found there with `SURE`."""
        return _found_share(self.evenly)

    @property
    def found_share_in_all(self) -> float:
        """Which share of the rows must be wrong in every draw, wherever they are, to be found in one with `SURE`."""
        return _found_share(self.evenly_in_all)

    def sentence(self) -> str:
        """Say what the samples would find."""
        return (
            f"Of {self.of:,} rows of a large draw, {self.rows:,} are compared with values, others in each of "
            f"{self.draws}. With {SURE:.0%}, rows that are wrong in every draw would be found if "
            f"{self.found_share_in_all:.2%} of all were, wherever they are; rows that are wrong in one draw alone, if "
            f"{self.found_share:.1%} were. All others must lie among the values that they are means of."
        )

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a document."""
        return {**asdict(self), "found_share": self.found_share, "found_share_in_all": self.found_share_in_all}


def _found_share(rows: int) -> float:
    return 1.0 - math.pow(1.0 - SURE, 1.0 / rows)


def sampled(cases: Sequence[Case]) -> Sampled | None:
    """Return how much of large draws, each a case, is compared with values; None where all are stored whole."""
    found: list[tuple[int, int, int]] = []
    for case in cases:
        for name, shape in [*case.thinned.items()][:1]:
            rows = int(np.unique(case.sample[name] // shape[-1]).size)
            found.append((rows, math.prod(shape[:-1]), max(1, min(rows, ROWS // _EACH_EVENLY))))
    if not found:
        return None
    least = min(found, key=lambda each: each[0] / each[1])
    return Sampled(*least, draws=len(found), evenly_in_all=sum(evenly for _, _, evenly in found))
