"""What a case expects of an implementation under the conventions that it declares.

The golden values follow the normative conventions. Where an implementation declares another one, the values that it
is held to are computed here from the inputs; they are never stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec.conventions import is_normative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.comparison.tolerance import Tolerance


@dataclass(frozen=True)
class Values:
    """Outputs are owed.

    Attributes
    ----------
    outputs
        Output name to the values owed.
    ungraded
        Output name to elements that are not graded because the declared alternative leaves them open.
    under
        The declared alternative, such as ``fully_masked_row=nan``; None under the normative conventions.
    """

    outputs: Mapping[str, NDArray[Any]]
    ungraded: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict[str, "NDArray[np.bool_]"])
    under: str | None = None


@dataclass(frozen=True)
class MustRefuse:
    """The input must be refused."""

    reason: str
    under: str | None = None


@dataclass(frozen=True)
class NotGraded:
    """The case says nothing about an implementation that declares this."""

    reason: str


Expectation = Values | MustRefuse | NotGraded


def expectation(
    case: Case,
    dtype: str,
    conventions: Mapping[str, str],
    inputs: Mapping[str, NDArray[Any]],
    bound: Tolerance | None,
) -> Expectation:
    """Return what a run of `case` in `dtype` should give.

    Parameters
    ----------
    case, dtype
        The run. The case is not one that is graded by properties.
    conventions
        Every convention's choice for the case's operation.
    inputs
        The inputs as the run sees them, in float64 or bool.
    bound
        Values and tolerances; may be None for a case that everyone must refuse.
    """
    sensitive = list(case.conventions)
    if case.rejects is not None:
        if case.rejects.convention is None:
            return MustRefuse(case.rejects.reason)
        name, choice = case.rejects.convention
        under = None if is_normative(name, choice) else f"{name}={choice}"
        if conventions[name] == choice:
            return MustRefuse(case.rejects.reason, under)
        if name == "input_checks":
            return NotGraded(f"graded only under input_checks={choice}; declared is {conventions[name]}")
        sensitive.append(name)
        outputs = _reference_outputs(case, inputs)
    else:
        outputs = dict(case.golden(dtype))
    for name in sensitive:
        if conventions[name] == "refuse":
            return MustRefuse(f"{case.title} (declared: {name}=refuse)", f"{name}=refuse")
    row = conventions["fully_masked_row"]
    if bound is not None and row != "zero" and bound.dead:
        outputs, ungraded = _other_dead_rows(outputs, row, bound)
        return Values(outputs, ungraded, f"fully_masked_row={row}")
    return Values(outputs)


def _other_dead_rows(
    outputs: Mapping[str, NDArray[Any]],
    choice: str,
    bound: Tolerance,
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.bool_]]]:
    """Replace what queries without any key owe: NaN, or the mean of all values; logsumexp is not graded there."""
    replaced = dict(outputs)
    left_out: dict[str, NDArray[np.bool_]] = {}
    for name, dead in bound.dead.items():
        if name not in replaced:
            continue
        if name == "logsumexp":
            left_out[name] = dead
        else:
            other = np.nan if choice == "nan" else bound.of(name).value
            replaced[name] = np.where(dead, other, replaced[name])
    return replaced, left_out


def _reference_outputs(case: Case, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the outputs for a case that stores none because the normative choice is to refuse it elsewhere."""
    import attnspec_reference
    from attnspec.operations import OPERATIONS

    returned: Any = getattr(attnspec_reference, case.operation)(**inputs, **case.attributes)
    values = cast("tuple[NDArray[Any], ...]", returned if isinstance(returned, tuple) else (returned,))
    return dict(zip(OPERATIONS[case.operation].outputs, values, strict=True))
