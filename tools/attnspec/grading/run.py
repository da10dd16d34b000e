"""A run: one case in one dtype, with all that is needed to ask and to grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec.contract.conventions import Choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.bounds.tolerance import Tolerance
    from attnspec.cases import Case
    from attnspec.contract.operation import Operation
    from attnspec.families.record import Family
    from attnspec.grading.expectation import Expectation


class Run(NamedTuple):
    """One (case, dtype), with all that is needed to ask and to grade.

    Attributes
    ----------
    case, dtype
        Which one.
    operation, family
        What is known of the case's operation.
    attributes
        What the implementation is called with beside the inputs.
    expected
        What it owes.
    bound, place
        Tolerances, and the run's place among the runs that they stand for.
    fused_place
        The place of its fused grade, for a run in half precision that is graded unfused; None for any other.
    conventions
        Every convention's choice for the operation; empty for a run that is not graded.
    layout
        The layout in which the implementation is asked; None for the contract's own.
    """

    case: Case
    dtype: str
    operation: Operation
    family: Family
    attributes: Mapping[str, Any]
    expected: Expectation
    bound: Tolerance | None = None
    place: int = 0
    fused_place: int | None = None
    conventions: Choices = Choices({})
    layout: str | None = None

    def __repr__(self) -> str:
        """Return case and dtype on a line; arrays are never printed."""
        return f"Run({self.case.id}, {self.dtype}: {self.operation.name})"
