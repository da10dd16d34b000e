"""Expectation of a case under the conventions that an implementation declares.

The golden values follow the normative conventions. For a declared alternative, the expected values are computed here
from the inputs; they are never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case, run_attributes
from attnspec.contract import CONVENTIONS, OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, Choices, conventions_settling
from attnspec.grading.stored_tolerance import StoredTolerance

if TYPE_CHECKING:
    from attnspec.bounds.tolerance import Tolerance
    from attnspec.contract.operation import Operation
    from attnspec.families.record import Family, Within


class Values(NamedTuple):
    """Expected outputs by name; of a `thinned` one, whose whole shape that gives, the sample alone (N,).

    `sample` has the flat indices of the expected elements where not all are. The declared alternatives `under` which
    they hold, such as ``fully_masked_row=nan``, leave `ungraded` elements open; others lie `within` two ends.
    """

    outputs: Mapping[str, NDArray[Any]]
    ungraded: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})
    under: str | None = None
    sample: Mapping[str, NDArray[np.int64]] = MappingProxyType({})
    thinned: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    within: Mapping[str, Within] = MappingProxyType({})


class MustRefuse(NamedTuple):
    """The input must be refused."""

    reason: str
    under: str | None = None


class NotGraded(NamedTuple):
    """The case says nothing about an implementation that declares this."""

    reason: str


class Properties(NamedTuple):
    """The result must have the properties that the family knows of."""

    under: str | None = None


Expectation = Values | MustRefuse | Properties | NotGraded


def expectation(
    case: Case,
    dtype: str,
    conventions: Mapping[str, str],
    inputs: Callable[[], Mapping[str, NDArray[Any]]],
    bound: Tolerance | None,
    family: Family,
    index: int = 0,
) -> Expectation:
    """Return the expectation of a run of `case` in `dtype`, under every convention's choice for the operation.

    `inputs` gives them as the run sees them, in float64, bool or int64; `bound` is None where everyone must refuse or
    properties are graded; `index` is the index of the run among those that the bound stands for.
    """
    if case.properties is not None:
        return Properties()
    sensitive = list(case.conventions)
    if case.rejects is not None:
        if case.rejects.convention is None:
            unchecked = [
                name for name in conventions_settling(Settles.REFUSALS) if conventions[name] == CHOICES[name][-1]
            ]
            return (
                NotGraded(f"nothing is refused under {unchecked[0]}={CHOICES[unchecked[0]][-1]}")
                if unchecked
                else (MustRefuse(case.rejects.reason))
            )
        name, choice = case.rejects.convention
        under = None if choice == CHOICES[name][0] else f"{name}={choice}"
        if conventions[name] == choice:
            return MustRefuse(case.rejects.reason, under)
        if name in conventions_settling(Settles.REFUSALS):
            return NotGraded(f"graded only under {name}={choice}; declared is {conventions[name]}")
        sensitive.append(name)
        outputs = dict(reference_outputs(case.operation, inputs(), run_attributes(dtype, case.attributes)))
    else:
        outputs = dict(case.golden(dtype))
    refusing = [name for name in sensitive if conventions[name] == "refuse"]
    for name in refusing:
        if not CONVENTIONS[name].is_about_nan or _nan_reaches_what_is_expected(case.operation, inputs(), outputs):
            return MustRefuse(f"{case.title} (declared: {name}=refuse)", f"{name}=refuse")
    if refusing:
        return NotGraded(
            f"under {refusing[0]}=refuse it may be refused or not: no NaN of an input reaches what is expected"
        )
    if bound is None:
        return Values(outputs, sample=case.sample, thinned=case.thinned)
    if isinstance(bound, StoredTolerance):
        return Values(outputs, bound.left_open(index), None, case.sample, case.thinned)
    expected = family.expected(outputs, conventions, bound, index)
    under = ", ".join(expected.under) or None
    return Values(expected.outputs, expected.ungraded, under, case.sample, case.thinned, expected.within)


def _nan_reaches_what_is_expected(
    operation: str, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
) -> bool:
    """Return whether an input holds NaN and an expected output does; other outputs hold excluded elements, too."""
    required = OPERATIONS[operation].required(inputs)
    return any(map(_holds_nan, inputs.values())) and any(
        _holds_nan(outputs[name]) for name in required if name in outputs
    )


def _holds_nan(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


class Run(NamedTuple):
    """One (case, dtype), with all that is needed to call and to grade.

    `bound_index` is the index among the runs of the bound, `fused_index` that of the fused grade: None but in half
    precision that is graded unfused. Conventions are empty where nothing is graded; layout None is the contract's own.
    `at_default` are the attributes that the implementation does not take, and which have their default in the case.
    """

    case: Case
    dtype: str
    operation: Operation
    family: Family
    attributes: Mapping[str, Any]
    expected: Expectation
    bound: Tolerance | None = None
    bound_index: int = 0
    fused_index: int | None = None
    conventions: Choices = Choices({})
    layout: str | None = None
    at_default: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        """Return case and dtype on a line; arrays are never printed."""
        return f"Run({self.case.id}, {self.dtype}: {self.operation.name})"


def reference_outputs(
    operation: str, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Return the outputs of the reference by name, without those that do not exist for these inputs.

    Inputs are in float64 where the outputs are expected of others.
    """
    import attnspec_reference

    returned: Any = getattr(attnspec_reference, operation)(**inputs, **attributes)
    values = cast("tuple[NDArray[Any] | None, ...]", returned if isinstance(returned, tuple) else (returned,))
    named = zip(OPERATIONS[operation].outputs, values, strict=True)
    return {name: value for name, value in named if value is not None}
