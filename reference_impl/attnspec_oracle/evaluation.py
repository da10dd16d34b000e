"""From a name to the numbers: the operations that the oracle evaluates, family by family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.operations import BY_ROWS as ATTENTION_BY_ROWS
from attnspec_oracle.attention.operations import OPERATIONS as ATTENTION
from attnspec_oracle.certification import only
from attnspec_oracle.interface import OracleError
from attnspec_oracle.rotary.operations import OPERATIONS as ROTARY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs
    from attnspec_oracle.interface import RowByRow

OPERATIONS: Mapping[str, Callable[..., Outputs]] = {**ATTENTION, **ROTARY}
"""Every operation that has golden values, by name."""

BY_ROWS: Mapping[str, Callable[[Mapping[str, NDArray[Any]], Mapping[str, Any]], RowByRow]] = {**ATTENTION_BY_ROWS}
"""Those of them that are evaluated a row at a time, too, by name."""


def evaluate_operation(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    outputs: Collection[str] | None,
    positions: Mapping[str, Sequence[int]],
) -> dict[str, NDArray[Any]]:
    """Do the work of :func:`attnspec_oracle.evaluate`, where everything is described."""
    if operation not in OPERATIONS:
        raise ValueError(
            f"{operation!r} is no operation of the oracle; it knows {', '.join(OPERATIONS)}. What gives "
            "random numbers is graded by its properties, not by golden values."
        )
    arrays = {name: _readable(array) for name, array in inputs.items()}
    try:
        recipes = OPERATIONS[operation](**arrays, **attributes)
        for name in (*(outputs or ()), *positions):
            if name not in recipes:
                raise ValueError(f"{operation} has no output {name!r}; it has {', '.join(recipes)}.")
        return {
            name: _canonical(name, compute(positions.get(name)), positions.get(name))
            for name, compute in recipes.items()
            if outputs is None or name in outputs
        }
    except OracleError as error:
        raise OracleError(f"{operation}: {error}") from error


def _canonical(name: str, array: NDArray[Any], elements: Elements) -> NDArray[Any]:
    # Adding +0 turns -0 into +0 and leaves every other number, so that a zero has one form only.
    return array if array.dtype == np.bool_ else only(name, array + 0.0, elements)


def _readable(array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array)
    return array if array.dtype.kind in "bi" else array.astype(np.float64)
