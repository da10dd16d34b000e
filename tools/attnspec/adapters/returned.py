"""What a Python implementation returned, read as named outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec.adapters.implementation import Malformed, Outputs
from attnspec.adapters.tensors import TENSORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.adapters.tensors import Tensors
    from attnspec.operation import Operation, Typed


def outputs_by_name(
    returned: object, operation: Operation, given: Mapping[str, Typed]
) -> dict[str, object] | Malformed:
    """Name the outputs in what was returned: one alone, a tuple in the contract's order, or a mapping.

    Parameters
    ----------
    returned
        What the implementation gave.
    operation
        The operation, for the names of its outputs.
    given
        The inputs that were handed over. A tuple may leave out what there is not without others, or hold None there.

    Returns
    -------
    dict or Malformed
        What was returned by name, of whatever type; or a sentence about what has no name.
    """
    if returned is None:
        return Malformed(f"{operation.name} returned None; it should return {operation.outputs[0]}.")
    if isinstance(returned, tuple):
        values = cast("tuple[object, ...]", returned)
        if len(values) > len(operation.outputs):
            return Malformed(
                f"{operation.name} returned {len(values)} outputs; it has {len(operation.outputs)}: "
                f"{', '.join(operation.outputs)}."
            )
        names = operation.outputs
        if len(values) < len(names) and not any(value is None for value in values):
            there = operation.there(given)
            names = there if len(values) <= len(there) else names
        return dict(zip(names, values, strict=False))
    if not isinstance(returned, Mapping):
        return {operation.outputs[0]: returned}
    entries = dict(cast("Mapping[str, object]", returned))
    for name in entries:
        if name not in operation.outputs:
            return Malformed(
                f"{operation.name} returned the unknown output {name!r}; its outputs are "
                f"{', '.join(operation.outputs)}."
            )
    return entries


def read_returned(
    returned: object, operation: Operation, given: Mapping[str, Typed], tensors: Tensors | None = None
) -> Outputs | Malformed:
    """Read an array, a tuple in the contract's order, or a mapping by name.

    Parameters
    ----------
    returned
        What the implementation gave; or why it is no set of outputs, where that is known already.
    operation
        The operation, for the names of its outputs.
    given
        The inputs that were handed over, on which depends what is owed.
    tensors
        The tensors that it may have returned instead of arrays.

    Returns
    -------
    Outputs or Malformed
        The arrays by name, in the memory in which they were returned where NumPy can see it; or a sentence about what
        cannot be read.
    """
    entries = returned if isinstance(returned, Malformed) else outputs_by_name(returned, operation, given)
    if isinstance(entries, Malformed):
        return entries
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in entries.items():
        if value is None:
            continue
        array = _as_array(value if tensors is None else tensors.returned(value))
        if array is None:
            library = type(value).__module__.partition(".")[0]
            hint = f' If it computes with {library}, declare tensors = "{library}".' if library in TENSORS[1:] else ""
            return Malformed(
                f"{operation.name} returned {_kind(value)} as {name!r}; return a NumPy array, a tuple of arrays in "
                f"the order {', '.join(operation.outputs)}, or a dict of arrays by name.{hint}"
            )
        arrays[name] = array
    if any(output.owed and output.name not in arrays for output in operation.gives):
        owed = operation.owed(given)
        for name in owed:
            if name not in arrays:
                which = "the output that is owed" if len(owed) == 1 else "which is owed"
                return Malformed(f"{operation.name} returned no {name!r}, {which}.")
    return Outputs(arrays)


_NUMBERS_BESIDE_NUMPY = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""The dtypes of numbers that NumPy takes for raw bytes."""


def _as_array(value: object) -> NDArray[Any] | None:
    """Return an array-like as an array of numbers or Booleans, or None."""
    if type(value) is np.ndarray and value.dtype.kind in "bifu":
        return value
    try:
        if isinstance(value, list | str | bytes) or not (
            hasattr(value, "__array__") or isinstance(value, int | float | np.generic)
        ):
            return None
        array = np.asarray(value)
    except Exception:
        return None
    return array if array.dtype.kind in "bifu" or array.dtype.name in _NUMBERS_BESIDE_NUMPY else None


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {cast('Any', value).dtype}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
