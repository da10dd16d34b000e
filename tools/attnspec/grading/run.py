"""A run: one case in one dtype, with all that is needed to call and to grade."""

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
    """One (case, dtype), with all that is needed to call and to grade.

    `place` is its index among the runs of the bound, `fused_place` that of its fused grade: None but in half precision
    that is graded unfused. Conventions are empty where nothing is graded; layout None is the contract's own.
    """

    case: Case
    dtype: str
    operation: Operation
    family: Family
    attributes: Mapping[str, Any]
    expected: Expectation
    bound: Tolerance | None = None
    place: int = 0
    fused_index: int | None = None
    conventions: Choices = Choices({})
    layout: str | None = None

    def __repr__(self) -> str:
        """Return case and dtype on a line; arrays are never printed."""
        return f"Run({self.case.id}, {self.dtype}: {self.operation.name})"
