"""Parts of a batch: entries along an axis that the contract names, taken from every tensor that has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec.families.record import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.families.record import Arrays

BATCH, TOKEN = "batch entry", "token"
"""The axis of batches, in every contract; that of tokens, where queries and keys are one."""

_LAST = (BATCH, TOKEN, "feature")
"""The last axes of a tensor of any rank."""

OF_ENTRIES = ("alone", "order", "neighbours")
"""Kinds of parts that have whole entries of a batch; the others cut these."""


def position_of_axis(operation: str, tensor: str, shape: Sequence[int], axis: str) -> int | None:
    """Return the position of an axis in a tensor, counted from the right; None where it has no such axis."""
    axes = OPERATIONS[operation].axes[tensor] or _LAST
    position = axes.index(axis) - len(axes) if axis in axes else 0
    return position if position and len(shape) >= -position else None


def length_along(case: Case, axis: str) -> int:
    """Return how many entries a case has along an axis; 0 where none of its inputs has it."""
    shapes = case.shapes
    found = ((shape, position_of_axis(case.operation, name, shape, axis)) for name, shape in shapes.items())
    return max((shape[position] for shape, position in found if position is not None), default=0)


def taken(case: Case, axis: str, indices: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Return the inputs of a case with some entries along an axis, in this order; what all entries share stays."""
    length, inputs = length_along(case, axis), dict[str, "NDArray[Any]"](case.inputs)
    for name, array in case.inputs.items():
        position = position_of_axis(case.operation, name, array.shape, axis)
        if position is not None and array.shape[position] == length:
            inputs[name] = np.take(array, indices, axis=position)
    return inputs


def last_alone(kind: str, case: Case, axis: str) -> Part:
    """Return the last entry along an axis by itself."""
    last = length_along(case, axis) - 1
    return Part(kind, f"{axis} {last} alone", taken(case, axis, [last]), {axis: ([last], [0])})


def other_order(case: Case) -> Part:
    """Return a batch backwards."""
    backwards = range(length_along(case, BATCH))[::-1]
    elements = {BATCH: (backwards, range(len(backwards)))}
    return Part("order", "the batch in the reverse order", taken(case, BATCH, backwards), elements)


def other_neighbours(case: Case, others: Arrays) -> Part:
    """Return a batch with the first entry as it is, and the rest of other inputs."""
    inputs = dict[str, "NDArray[Any]"](case.inputs)
    for name, array in case.inputs.items():
        position = position_of_axis(case.operation, name, array.shape, BATCH)
        if position is not None and array.shape[position] > 1:
            inputs[name] = others[name].copy()
            np.moveaxis(inputs[name], position, 0)[0] = np.moveaxis(array, position, 0)[0]
    return Part("neighbours", "batch entry 0 beside other contents", inputs, {BATCH: ([0], [0])})
