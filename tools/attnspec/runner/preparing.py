"""Preparing the runs of a case: what each is called with, what it owes, and within what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.comparison import (
    Expectation,
    Tolerance,
    Values,
    expectation,
    precision_of,
    stacked,
    tolerance,
)
from attnspec.dtypes import HALF_PRECISION, rounded_to
from attnspec.errors import FixtureError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.cases import Case

_FUSED = "scaled_dot_product_attention"
"""Operations with projections store what they project: in half precision they are never graded fused."""


class Run(NamedTuple):
    """One (case, dtype), with all that is needed to ask and to grade.

    Attributes
    ----------
    case, dtype
        Which one.
    attributes
        What the implementation is called with beside the inputs.
    expected
        What it owes.
    bound, place
        Tolerances, and the run's place among the runs that they stand for.
    fused_place
        The place of its fused grade, for a run in half precision that is graded unfused; None for any other.
    """

    case: Case
    dtype: str
    attributes: Mapping[str, Any]
    expected: Expectation
    bound: Tolerance | None = None
    place: int = 0
    fused_place: int | None = None


def prepare(case: Case, dtypes: Sequence[str], resolved: Mapping[str, str]) -> dict[str, Run]:
    """Return the run of a case in each of `dtypes`.

    Parameters
    ----------
    case
        The case.
    dtypes
        Dtypes that it is run in, or ``any``.
    resolved
        Every convention's choice for the case's operation.

    Raises
    ------
    FixtureError
        If the inputs and attributes of the case do not fit each other, which no schema sees.
    """
    attributes = dict(case.attributes)
    if resolved["causal_alignment"] != "any":
        attributes.pop("causal_alignment", None)
    if case.properties is not None:
        return {dtype: Run(case, dtype, attributes, Values({})) for dtype in dtypes}
    refused_by_all = case.rejects is not None and (
        case.rejects.convention is None or case.rejects.convention[0] == "input_checks"
    )
    may_fuse = case.operation == _FUSED
    fused = may_fuse and resolved["half_precision_grade"] == "fused"
    runs: dict[str, Run] = {}
    for group in _with_equal_inputs(case, dtypes):
        seen = {name: rounded_to(array, group[0]) for name, array in case.inputs.items()}
        grades = [(dtype, fused) for dtype in group]
        if may_fuse and not fused:
            grades += [(dtype, True) for dtype in group if dtype in HALF_PRECISION]
        bound = None if refused_by_all else _bound(case, grades, seen, resolved)
        for dtype in group:
            expected = expectation(case, dtype, resolved, seen, bound)
            fused_place = None if fused or (dtype, True) not in grades else grades.index((dtype, True))
            runs[dtype] = Run(case, dtype, attributes, expected, bound, grades.index((dtype, fused)), fused_place)
    return runs


def _with_equal_inputs(case: Case, dtypes: Sequence[str]) -> list[list[str]]:
    """Put dtypes that hold the inputs exactly into one group; each other one is a group of its own."""
    if len(dtypes) < 2 or (case.expected is not None and "all" in case.expected):
        return [list(dtypes)] if dtypes else []
    exact = [
        dtype
        for dtype in dtypes
        if all(np.array_equal(array, rounded_to(array, dtype)) for array in case.inputs.values())
    ]
    return [group for group in (exact, *([dtype] for dtype in dtypes if dtype not in exact)) if group]


def _bound(
    case: Case, grades: Sequence[tuple[str, bool]], seen: Mapping[str, NDArray[Any]], resolved: Mapping[str, str]
) -> Tolerance:
    """Return the tolerances in each dtype, fused or not."""
    precisions = [precision_of(dtype, fused=fused, accumulation=resolved["accumulation"]) for dtype, fused in grades]
    precision = precisions[0] if len(precisions) == 1 else stacked(precisions)
    try:
        return tolerance(case.operation, seen, case.attributes, precision, resolved)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise FixtureError(
            f"The case {case.id!r} cannot be graded, because its inputs and attributes do not fit each other: {error}. "
            "Correct its recipe and run `attnspec regenerate`."
        ) from None
