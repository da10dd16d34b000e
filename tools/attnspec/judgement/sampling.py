"""What the sample of large draws would find: which share of wrong rows does not escape it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case

SURE = 0.95
"""How likely it is that a wrong share is found, where it is said that it would be."""


@dataclass(frozen=True)
class Sampled:
    """How much of large draws is held against values.

    Attributes
    ----------
    rows, of
        How many rows of an output, and of how many; of several draws, the one of which the smallest share is held.
    """

    rows: int
    of: int

    @property
    def found_share(self) -> float:
        """Which share of the rows must be wrong, wherever they are, to be found with `SURE` in one draw."""
        return 1.0 - math.pow(1.0 - SURE, 1.0 / self.rows)

    def sentence(self) -> str:
        """Say what the sample would find."""
        return (
            f"Of {self.of:,} rows of a large draw, {self.rows:,} are held against values: {self.found_share:.1%} of "
            f"wrong rows would be found with {SURE:.0%}. All others must lie among the values that they are means of."
        )

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a document."""
        return {"rows": self.rows, "of": self.of, "found_share": self.found_share}


def sampled(cases: Sequence[Case]) -> Sampled | None:
    """Return how much of large draws is held against values; None where all are held whole.

    Parameters
    ----------
    cases
        The draws.
    """
    found = [_of(case) for case in cases if case.thinned]
    return min(found, key=lambda each: each.rows / each.of, default=None)


def _of(case: Case) -> Sampled:
    name, shape = next(iter(case.thinned.items()))
    return Sampled(int(np.unique(case.sample[name] // shape[-1]).size), math.prod(shape[:-1]))
