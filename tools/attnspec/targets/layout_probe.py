"""Layout in which a function is called whose operation was guessed, where it does not stand the contract's own."""

from __future__ import annotations

import math

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import numpy_dtype
from attnspec.contract.implementation import Implementation, Outputs, Request
from attnspec.contract.operation import REQUIRED
from attnspec.targets.laid_out import laid_out

_FEWER_AXES = ("hse", "se")
"""Layouts that a textbook has in mind: without a batch, and without heads, too."""

_LENGTHS = {"entry": 1, "head": 1}
"""Lengths of axes that such layouts do not have, by the last word of their meaning."""

_FIRST_LENGTH = 3
"""Length of the first other axis; each further one has one more, so that none passes for another."""


def layout_needed(implementation: Implementation, operation: str) -> str | None:
    """Return the layout with fewer axes in which a function can be called, where it cannot be as it stands."""
    contract = OPERATIONS[operation]
    if REQUIRED in contract.attributes.values() or not all(each.axes for each in contract.takes if not each.optional):
        return None
    request, shape = _request(operation, implementation.declaration.dtypes[0], {"entry": 2, "head": 2})
    if _comes_back(implementation, request, shape):
        return None
    request, shape = _request(operation, implementation.declaration.dtypes[0], _LENGTHS)
    return next((each for each in _FEWER_AXES if _comes_back(laid_out(implementation, each), request, shape)), None)


def _request(operation: str, dtype: str, known: dict[str, int]) -> tuple[Request, tuple[int, ...]]:
    """Return a plain request for an operation, and the shape of its first output."""
    contract, lengths = OPERATIONS[operation], dict(known)

    def shape_of(axes: tuple[str, ...]) -> tuple[int, ...]:
        kinds = [meaning.rpartition(" ")[2] for meaning in axes]
        return tuple(lengths.setdefault(kind, len(lengths) - len(known) + _FIRST_LENGTH) for kind in kinds)

    shapes = {tensor.name: shape_of(tensor.axes) for tensor in contract.takes if not tensor.optional}
    # Unlike each other, so that code which compares them finds three tensors.
    inputs = {
        name: (np.arange(1, math.prod(shape) + 1).reshape(shape) / (number + 7)).astype(numpy_dtype(dtype))
        for number, (name, shape) in enumerate(shapes.items())
    }
    return Request(operation, dtype, inputs, {}), shape_of(contract.gives[0].axes)


def _comes_back(implementation: Implementation, request: Request, shape: tuple[int, ...]) -> bool:
    answer = implementation.run(request._replace(inputs={name: each.copy() for name, each in request.inputs.items()}))
    name = OPERATIONS[request.operation].gives[0].name
    return isinstance(answer, Outputs) and name in answer.values and answer.values[name].shape == shape
