"""Preparing the runs of a case: what each is called with, what it owes, and within what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds import Tolerance, precision_of, stacked
from attnspec.cases import Inputs
from attnspec.comparison import NotGraded, Run, expectation
from attnspec.contract import OPERATIONS
from attnspec.convention import Settles
from attnspec.conventions import departs, fixed_attributes, inner_dtype, settling
from attnspec.dtypes import HALF_PRECISION, REFERENCE_DTYPE, follows_run, rounded_to
from attnspec.errors import FixtureError
from attnspec.families.lookup import family_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.family import Family


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
    operation, family = OPERATIONS[case.operation], family_of(case.operation)
    fixed = fixed_attributes(resolved)
    refused_by_all = case.rejects is not None and (
        case.rejects.convention is None or case.rejects.convention[0] in settling(Settles.REFUSALS)
    )
    fused = operation.may_fuse and departs(Settles.ROUNDINGS, resolved)
    runs: dict[str, Run] = {}
    for group in _with_equal_inputs(case, dtypes):
        # Generated inputs are exact in every dtype, and too large to be drawn for their bound.
        seen = case.inputs
        if not case.generated:
            seen = {name: rounded_to(array, group[0]) for name, array in case.inputs.items()}
        grades = [(dtype, fused) for dtype in group]
        if operation.may_fuse and not fused:
            grades += [(dtype, True) for dtype in group if dtype in HALF_PRECISION]
        without_bound = refused_by_all or case.properties is not None
        of_values = [] if case.is_certified else [(REFERENCE_DTYPE, False)]
        bound = None if without_bound else _bound(case, family, [*grades, *of_values], seen, resolved)
        if bound is not None and of_values:
            bound.place_of_values = len(grades)
        for dtype in group:
            place = grades.index((dtype, fused))
            expected = expectation(case, dtype, resolved, seen, bound, family, place)
            fused_place = None if fused or (dtype, True) not in grades else grades.index((dtype, True))
            attributes = {name: value for name, value in case.attributes_in(dtype).items() if name not in fixed}
            runs[dtype] = Run(case, dtype, operation, family, attributes, expected, bound, place, fused_place, resolved)
    return runs


def not_graded(case: Case, dtype: str, reason: str) -> Run:
    """Return the run of a case that says nothing about an implementation."""
    return Run(case, dtype, OPERATIONS[case.operation], family_of(case.operation), {}, NotGraded(reason))


def _with_equal_inputs(case: Case, dtypes: Sequence[str]) -> list[list[str]]:
    """Put dtypes that hold the inputs exactly into one group; each other one is a group of its own."""
    if len(dtypes) < 2 or (case.expected is not None and "all" in case.expected):
        return [list(dtypes)] if dtypes else []
    exact = [
        dtype
        for dtype in dtypes
        if all(np.array_equal(array, rounded_to(array, dtype)) for array in case.inputs.values() if follows_run(array))
    ]
    return [group for group in (exact, *([dtype] for dtype in dtypes if dtype not in exact)) if group]


def _bound(
    case: Case,
    family: Family,
    grades: Sequence[tuple[str, bool]],
    seen: Mapping[str, NDArray[Any]],
    resolved: Mapping[str, str],
) -> Tolerance:
    """Return the tolerances in each dtype, fused or not."""
    inside = inner_dtype(resolved)
    precisions = [precision_of(dtype, fused=fused, inside=inside) for dtype, fused in grades]
    precision = precisions[0] if len(precisions) == 1 else stacked(precisions)
    try:
        if isinstance(seen, Inputs):
            return family.sampled_tolerance(case.operation, seen, case.attributes, case.sample, precision, resolved)
        return family.tolerance(case.operation, seen, case.attributes, precision, resolved)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise FixtureError(
            f"The case {case.id!r} cannot be graded, because its inputs and attributes do not fit each other: {error}. "
            "Correct its recipe and run `attnspec regenerate`."
        ) from None
