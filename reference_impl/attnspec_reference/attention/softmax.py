"""Softmax: numbers to shares of one.

Softmax turns numbers into positive weights that sum to one. A number that is larger by one gets a weight
that is ``e`` times as large. The specification page is ``spec/operations/attention/softmax.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen


@quietly
def softmax(x: ArrayLike, *, axis: int | None = -1) -> Array:
    """Divide the exponential of each number by the sum of all of them.

    Parameters
    ----------
    x
        Numbers, any shape. Float64, float32, float16 or bfloat16.
    axis
        The axis along which the results sum to one; None means the whole array.

    Returns
    -------
    output
        Weights, same shape and dtype as ``x``.
    """
    # Widen
    dtype = result_dtype(x)
    x = widen(x, dtype)

    # Subtract the largest
    distances = subtract(x, largest(x, axis))

    # Exponentiate
    exponentials = np.exp(distances)

    # Divide by the sum
    output = divide_by_sum(exponentials, axis)

    # Round
    return round_to(dtype, output)


def largest(x: Array, axis: int | None) -> Array:
    """Find the largest number along the axis, which is kept with length one."""
    return np.max(x, axis=axis, keepdims=True, initial=-np.inf)


def subtract(x: Array, amount: Array) -> Array:
    """Shift the numbers down; softmax does not change, and no exponential exceeds one."""
    return x - amount


def divide_by_sum(exponentials: Array, axis: int | None) -> Array:
    """Divide each exponential by the sum along the axis."""
    return exponentials / np.sum(exponentials, axis=axis, keepdims=True)
