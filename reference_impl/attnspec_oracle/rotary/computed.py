"""Numbers that a formula encloses, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flint import arb

from attnspec_oracle.certification import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNDECIDED = arb("nan")
"""What a formula gives while its ball is too wide to choose a branch; a tighter ball is then requested."""


@dataclass(frozen=True)
class Computed(Quantity):
    """A row of numbers, each enclosed by a formula at the working precision.

    Attributes
    ----------
    ball
        Encloses the number at a position of the row.
    """

    ball: Callable[[int], arb]

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the numbers at some positions."""
        return [self.ball(position) for position in positions]


def between_0_and_1(ball: arb) -> arb:
    """Enclose the nearest number between 0 and 1."""
    if ball <= 0:
        return arb(0)
    if ball >= 1:
        return arb(1)
    return ball if ball > 0 and ball < 1 else UNDECIDED
