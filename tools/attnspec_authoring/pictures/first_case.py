"""The picture of an operation that nobody drew one for: its first case, every tensor as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec_authoring.pictures.drawing import heat_map, picture
from attnspec_authoring.pictures.tensors import tensors
from attnspec_authoring.recipes import authored_cases

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_ROWS, _MOST_COLUMNS = 6, 8


def first_case(operation: str) -> str:
    """Draw the first rows of every tensor of the first case that an operation has values for."""
    case = next(case for case in authored_cases() if case.operation == operation and case.rejects is None)
    sentence = OPERATIONS[operation].sentence
    return picture(
        f"{operation}: {sentence}", *(heat_map(name, _as_table(array)) for name, array in tensors(case.id).items())
    )


def _as_table(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return the first table of a tensor of any rank, as much of it as a picture has room for."""
    numbers = np.atleast_2d(array.astype(np.float64))
    while numbers.ndim > 2:
        numbers = numbers[0]
    return numbers[:_MOST_ROWS, :_MOST_COLUMNS]
