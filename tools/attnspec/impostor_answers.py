"""What impostors of any operation are made of: the right answer of another call, or moved elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import follows_run
from attnspec.reference_answers import reference_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.family import Answered

Outputs = dict[str, "NDArray[Any]"]

PRECISE = ("float64", "float32")
"""Dtypes in which an error of a hundredth or a thousandth is no rounding."""


def answer_of(
    operation: str, names: Sequence[str], inputs: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Outputs:
    """Return some outputs of the reference for a call; inputs and attributes that are None are left out."""
    given = {name: array for name, array in inputs.items() if array is not None}
    stated = {name: value for name, value in attributes.items() if value is not None}
    answered = reference_outputs(operation, given, stated)
    return {name: answered[name] for name in names if name in answered}


def zeros(call: Answered, names: Sequence[str]) -> Outputs:
    """Return zeros for some outputs."""
    return {name: np.zeros_like(call.right[name]) for name in names}


def moved(call: Answered, names: Sequence[str], axis: int) -> Outputs:
    """Return the right outputs, moved on by one along an axis."""
    return {name: np.roll(call.right[name], 1, axis) for name in names}


def of_the_call_before(call: Answered, names: Sequence[str]) -> Outputs:
    """Return the outputs of the call before: as much of their memory as is needed, again and again if it ends."""
    if not call.before:
        return {}
    return {
        name: np.resize(call.before[name], call.right[name].shape) if call.before[name].size else call.right[name]
        for name in names
    }


def in_half_precision(inputs: Mapping[str, NDArray[Any]]) -> Outputs:
    """Return inputs in float16, where they are in the dtype of the run."""
    return {name: array.astype(np.float16) if follows_run(array) else array for name, array in inputs.items()}
