"""Arrays as the shortest NumPy expressions that give them back exactly."""

from math import copysign
from typing import Any

import numpy as np
from numpy.typing import NDArray


def array_literal(array: NDArray[Any]) -> str:
    """Return a NumPy expression for an array of floats, integers or truth values."""
    identity = _identity(array)
    if identity:
        return identity
    if array.dtype.kind not in "bi":
        array = array.astype(np.float64)
    kind = {"f": "float", "b": "bool"}.get(array.dtype.kind, "int")
    numbers = array.ravel().tolist()
    shape = repr(array.shape)
    if array.size > 1 and all(repr(number) == repr(numbers[0]) for number in numbers):
        if kind == "float" and number_literal(numbers[0]) == "0":
            return f"np.zeros({shape})"
        return f"np.full({shape}, {number_literal(numbers[0])}, {kind})"
    listed = f"np.array([{', '.join(map(number_literal, numbers))}], {kind})"
    return listed if array.ndim == 1 else f"{listed}.reshape({shape})"


def number_literal(number: float) -> str:
    """Return a number as the shortest literal; ``inf`` and ``nan`` are names that the script imports."""
    if number == 0.0 and copysign(1.0, number) < 0:
        return "-0.0"
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _identity(array: NDArray[Any]) -> str | None:
    """Return the expression for rows of the identity in every batch entry and head."""
    if array.ndim != 4 or array.shape[2] != array.shape[3] or array.shape[2] < 2:
        return None
    if not np.array_equal(array, np.broadcast_to(np.eye(array.shape[2]), array.shape)):
        return None
    return f"np.broadcast_to(np.eye({array.shape[2]}), {array.shape!r})"
