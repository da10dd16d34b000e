"""RMS norm: divide the features of each token by the root of the mean of their squares.

The specification page is ``spec/operations/norms/rms_norm.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen

Shape = tuple[int, ...]


@quietly
def rms_norm(x: ArrayLike, weight: ArrayLike, *, epsilon: float, weight_offset: str = "zero") -> Array:
    """Divide each token by the root of the mean of its squares, and multiply its features by their weights.

    Parameters
    ----------
    x
        Tokens (..., D). Float64, float32, float16 or bfloat16.
    weight
        What each feature is multiplied by (D,).
    epsilon
        What is added to the mean of the squares.
    weight_offset
        ``zero``: the weight is taken as it is. ``one``: 1 is added to it.

    Returns
    -------
    output
        Normalized tokens, same shape and dtype as ``x``.

    Raises
    ------
    ValueError
        There is not one weight for each feature, or the offset is unknown.
    """
    # Check the inputs
    check_inputs(np.shape(x), np.shape(weight))
    check_weight_offset(weight_offset)

    # Widen
    dtype = result_dtype(x)
    x, weight = widen(x, dtype), widen(weight, dtype)

    # Average the squares
    mean_square = mean_square_of(x)

    # Divide by the root
    normalized = divide_by_root(x, mean_square, epsilon)

    # Multiply by the weight
    output = multiply(normalized, weight, weight_offset)

    # Round
    return round_to(dtype, output)


def check_inputs(x: Shape, weight: Shape) -> None:
    """Refuse weights that are not one for each feature."""
    if not x or weight != x[-1:]:
        raise ValueError(f"x has shape {x}, weight {weight}; the weight needs one number for each feature of x.")


def check_weight_offset(weight_offset: str) -> None:
    """Refuse an offset that is neither of the two."""
    if weight_offset not in ("zero", "one"):
        raise ValueError(f"weight_offset is {weight_offset!r}; it must be 'zero' or 'one'.")


def mean_square_of(x: Array) -> Array:
    """Average the squares along the last axis, which is kept with length one."""
    return np.mean(x * x, axis=-1, keepdims=True)


def divide_by_root(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Divide by the root of the mean of the squares, to which epsilon is added."""
    return x / np.sqrt(mean_square + np.asarray(epsilon, dtype=x.dtype))


def multiply(normalized: Array, weight: Array, weight_offset: str) -> Array:
    """Multiply each feature by its weight, or by one more."""
    return normalized * (1 + weight if weight_offset == "one" else weight)
