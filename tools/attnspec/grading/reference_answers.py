"""Answers of the reference: the outputs of a call for which no golden file holds any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


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


def reference_refusal(operation: str, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> str | None:
    """Return why the reference refuses a call; None where it answers it."""
    try:
        reference_outputs(operation, inputs, attributes)
    except ValueError as error:
        return str(error)
    return None
