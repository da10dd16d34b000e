"""Sampling of large draws: which share of wrong rows does not escape it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_draws.judge.shapes import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case

_EACH_EVENLY = 3
"""One of so many rows that are drawn is drawn from all alike, as spec/draws.md says."""

SURE = 0.95
"""How likely it is that a wrong share is found, where it is said that it would be."""


@dataclass(frozen=True)
class Sampled:
    """Sampled share of large draws: `rows` of an output out of `of`, in the draw with the smallest share.

    `evenly` of these are drawn from all rows alike. The others are last ones of heads, first ones, and those at borders
    of tiles, where errors are likelier.
    """

    rows: int
    of: int
    evenly: int

    @property
    def found_share(self) -> float:
        """Which share of the rows must be wrong, wherever they are, to be found with `SURE` in one draw."""
        return 1.0 - math.pow(1.0 - SURE, 1.0 / self.evenly)

    def sentence(self) -> str:
        """Say what the sample would find."""
        return (
            f"Of {self.of:,} rows of a large draw, {self.rows:,} are held against values: wrong rows would be found "
            f"with {SURE:.0%} if {self.found_share:.1%} of all were, wherever they are. All others must lie among the "
            "values that they are means of."
        )

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a document."""
        return {"rows": self.rows, "of": self.of, "evenly": self.evenly, "found_share": self.found_share}


def sampled(cases: Sequence[Case]) -> Sampled | None:
    """Return how much of large draws is compared with values; None where all are held whole."""
    found = [_of(case) for case in cases if case.thinned]
    return min(found, key=lambda each: each.rows / each.of, default=None)


def _of(case: Case) -> Sampled:
    name, shape = next(iter(case.thinned.items()))
    rows = int(np.unique(case.sample[name] // shape[-1]).size)
    return Sampled(rows, math.prod(shape[:-1]), max(1, min(rows, ROWS // _EACH_EVENLY)))
