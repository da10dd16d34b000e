"""What a draw must keep to: its dtype, what it leaves out, and how large it may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ELEMENTS = 60_000
"""How many elements the largest tensor of a draw may have: so many take a millisecond or two to be graded."""

LONGEST = 4_096
"""How long an axis may be."""


@dataclass(frozen=True)
class Limits:
    """What a draw keeps to.

    Attributes
    ----------
    dtype
        The dtype that holds every number of the inputs exactly.
    without
        Features that are left out: capabilities, arguments, ``argument=value``, or words of the family's lattice.
    elements
        How many elements the largest tensor may have, steps between the inputs and the results included.
    longest
        How long an axis may be that is drawn.
    extents
        Axis to its length, for axes that are not drawn.
    variant
        Which of the draws that are alike in all but the numbers of their tensors; 0 for the first, `REVERSED` for the
        one whose tensors hold the same numbers in the opposite order.
    rows
        How many rows of each output are held against values where it is too large to be held whole; 0 for none.
    stated
        Attribute to its value, for attributes that are not drawn.
    """

    dtype: str
    without: frozenset[str] = frozenset()
    elements: int = ELEMENTS
    longest: int = LONGEST
    extents: Mapping[str, int] = field(default_factory=dict[str, int])
    variant: int = 0
    rows: int = 0
    stated: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def allow(self, *features: str) -> bool:
        """Tell whether none of these features is left out."""
        return self.without.isdisjoint(features)
