"""What a draw must keep to: its dtype, what it leaves out, and how large it may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

ELEMENTS = 60_000
"""How many elements the largest tensor of a draw may have: so many take a millisecond or two to be graded."""

LONGEST = 4_096
"""How long an axis may be."""

NO_AXES = "0"
"""How it is written that an input which is given has no axes."""

FEWEST = 2
"""Elements of the smallest case that there is: one key, and one from the past."""


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
        How many elements the largest tensor may have, steps between the inputs and the results included; 2 or more.
    longest
        How long an axis may be that is drawn, at least 1.
    extents
        Axis to its length, for axes that are not drawn.
    variant
        Which of the draws that are alike in all but the numbers of their tensors; 0 for the first, `REVERSED` for the
        one whose tensors hold the same numbers in the opposite order.
    rows
        How many rows of each output are held against values where it is too large to be held whole; 0 for none.
    stated
        Attribute to its value, for attributes that are not drawn.
    numbers
        The class of the numbers, where that is not drawn.
    sample
        The seed of the rows that are held, any word, so that no number of the inputs tells which they are; the draw's
        own if empty.
    given
        Optional input that every draw has to the axes that it has, the last ones of all that it may have: ``n`` for a
        whole one, ``1`` for one that stands for all, and `NO_AXES`; an empty text where they are drawn.

    Raises
    ------
    UsageError
        If no case is so small.
    """

    dtype: str
    without: frozenset[str] = frozenset()
    elements: int = ELEMENTS
    longest: int = LONGEST
    extents: Mapping[str, int] = field(default_factory=dict[str, int])
    variant: int = 0
    rows: int = 0
    numbers: str = ""
    sample: str = ""
    stated: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Refuse limits that no case keeps to."""
        if self.elements < FEWEST or self.longest < 1:
            raise UsageError(
                f"elements={self.elements} and longest={self.longest} leave no case: "
                f"write elements={FEWEST} and longest=1 at least."
            )

    def allow(self, *features: str) -> bool:
        """Tell whether none of these features is left out."""
        return self.without.isdisjoint(features)

    def has(self, name: str, *, drawn: bool) -> bool:
        """Tell whether a draw has an optional input: never where it is left out, always where it is given."""
        return self.allow(name) and (drawn or name in self.given)

    def shape_of(self, name: str, whole: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the shape of an input that is given, out of the axes that it may have; None where that is drawn.

        Raises
        ------
        UsageError
            If it is given more axes than it may have.
        """
        axes = self.given.get(name)
        if not axes:
            return None
        if axes == NO_AXES:
            return ()
        if len(axes) > len(whole):
            raise UsageError(f"{name} is given {len(axes)} axes, of {len(whole)} at most.")
        last = whole[len(whole) - len(axes) :]
        return tuple(1 if axis == "1" else length for axis, length in zip(axes, last, strict=True))

    def check_size(self, elements: int) -> None:
        """Raise `UsageError` if the largest tensor of a case has more elements than it may, for lengths are stated."""
        if elements > self.elements:
            stated = ", ".join(f"{axis}={length}" for axis, length in self.extents.items())
            raise UsageError(
                f"With {stated}, the largest tensor has {elements} elements, and {self.elements} is the limit: "
                f"shorten an axis, or write elements={elements}."
            )
