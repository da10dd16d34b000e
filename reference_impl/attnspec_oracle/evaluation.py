"""From a name to the numbers: the operations that the oracle evaluates, family by family."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.certification import only
from attnspec_oracle.interface import OracleError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs
    from attnspec_oracle.interface import RowByRow

_FAMILIES = [
    import_module(f"attnspec_oracle.{module.parent.name}.operations")
    for module in sorted(Path(__file__).parent.glob("*/operations.py"))
]
"""A family is a folder with operations."""

OPERATIONS: Mapping[str, Callable[..., Outputs]] = {
    name: operation for family in _FAMILIES for name, operation in family.OPERATIONS.items()
}
"""Every operation that has golden values, by name."""

BY_ROWS: Mapping[str, Callable[[Mapping[str, NDArray[Any]], Mapping[str, Any]], RowByRow]] = {
    name: operation for family in _FAMILIES for name, operation in getattr(family, "BY_ROWS", {}).items()
}
"""Those of them that are evaluated a row at a time, too, by name."""

_OF_BYTES = frozenset(name for family in _FAMILIES for name in getattr(family, "OF_BYTES", ()))
"""Those that round to the dtype of an input of 8 bits, which then comes in it."""


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
    arrays = {name: _readable(array, operation) for name, array in inputs.items()}
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
    return array if array.dtype.kind in "bi" else only(name, array + 0.0, elements)


def _readable(array: NDArray[Any], operation: str) -> NDArray[Any]:
    array = np.asarray(array)
    is_kept = array.dtype.kind in "bi" or (operation in _OF_BYTES and array.dtype.itemsize == 1)
    return array if is_kept else array.astype(np.float64)
