"""Arrays of exact numbers: Python integers times one common power of two.

Every float64 is dyadic, and so is every sum and product of such numbers. Projections and dot products are
therefore computed without any error. A NaN or an infinity has no exact value; it is kept beside the
integers, and its way through sums and products follows IEEE 754.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpz_mat

from attnspec_oracle.rounding import round_dyadic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class ExactArray:
    """An array of exact dyadic numbers, ``integers * 2**exponent``.

    Attributes
    ----------
    integers
        Python integers in an object array; 0 where the element is not finite.
    exponent
        The power of two that all elements share.
    nonfinite
        float64 of the same shape: 0 where the element is finite, else the NaN or infinity.
    """

    integers: NDArray[Any]
    exponent: int
    nonfinite: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.integers.shape

    def rearranged(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> ExactArray:
        """Apply a function that only moves, repeats or selects elements."""
        return ExactArray(move(self.integers), self.exponent, move(self.nonfinite))

    def rounded(self) -> NDArray[np.float64]:
        """Round every element to the nearest float64."""
        values = [round_dyadic(integer, self.exponent) for integer in self.integers.ravel().tolist()]
        return overridden(np.array(values, dtype=np.float64).reshape(self.shape), self.nonfinite)


def overridden(values: NDArray[np.float64], nonfinite: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put every NaN and infinity of ``nonfinite`` instead of the value there."""
    return np.where(nonfinite == 0, values, nonfinite)


def exact_array(values: NDArray[Any]) -> ExactArray:
    """Read floating-point numbers as the exact numbers that they are.

    Parameters
    ----------
    values
        Any shape, any real dtype that float64 holds exactly.
    """
    values = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(values)
    ratios = [value.as_integer_ratio() for value in np.where(finite, values, 0.0).ravel().tolist()]
    denominator = max((below for _, below in ratios), default=1)  # each is a power of two
    integers = np.empty(len(ratios), dtype=object)
    integers[:] = [above * (denominator // below) for above, below in ratios]
    return ExactArray(integers.reshape(values.shape), 1 - denominator.bit_length(), np.where(finite, 0.0, values))


def matmul(left: ExactArray, right: ExactArray) -> ExactArray:
    """Multiply matrices, or stacks of them whose leading axes broadcast.

    Parameters
    ----------
    left, right
        (..., n, k) and (..., k, m).

    Returns
    -------
    ExactArray
        (..., n, m), every dot product without error.
    """
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left_integers = np.broadcast_to(left.integers, (*stack, rows, inner))
    right_integers = np.broadcast_to(right.integers, (*stack, inner, columns))
    product = np.empty((*stack, rows * columns), dtype=object)
    for index in np.ndindex(stack):
        matrix = integer_matrix(left_integers[index]) * integer_matrix(right_integers[index])
        product[index] = [int(entry) for entry in matrix.entries()]
    return ExactArray(
        product.reshape(*stack, rows, columns),
        left.exponent + right.exponent,
        _nonfinite_matmul(left, right),
    )


def add(left: ExactArray, right: ExactArray) -> ExactArray:
    """Add two arrays whose shapes broadcast."""
    exponent = min(left.exponent, right.exponent)
    integers = left.integers * (1 << (left.exponent - exponent)) + right.integers * (1 << (right.exponent - exponent))
    with np.errstate(invalid="ignore"):
        nonfinite = left.nonfinite + right.nonfinite
    return ExactArray(integers, exponent, nonfinite)


def joined(first: ExactArray, second: ExactArray, axis: int) -> ExactArray:
    """Put two arrays one after the other along an axis."""
    exponent = min(first.exponent, second.exponent)
    integers = [array.integers * (1 << (array.exponent - exponent)) for array in (first, second)]
    nonfinite = np.concatenate([first.nonfinite, second.nonfinite], axis=axis)
    return ExactArray(np.concatenate(integers, axis=axis), exponent, nonfinite)


def integer_matrix(integers: NDArray[Any]) -> fmpz_mat:
    """Copy a rank-2 object array of integers into a FLINT matrix."""
    rows, columns = integers.shape
    return fmpz_mat(rows, columns, integers.ravel().tolist())


def _nonfinite_matmul(left: ExactArray, right: ExactArray) -> NDArray[np.float64]:
    if not left.nonfinite.any() and not right.nonfinite.any():
        return np.zeros((*np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1]))
    # Next to a NaN or an infinity only the sign of a finite factor matters. BLAS might skip zeros.
    with np.errstate(invalid="ignore"):
        terms = _signs(left)[..., :, :, None] * _signs(right)[..., None, :, :]
        total = terms.sum(axis=-2)
    return np.where(np.isfinite(total), 0.0, total)


def _signs(array: ExactArray) -> NDArray[np.float64]:
    positive = np.asarray(array.integers > 0, dtype=np.float64)
    negative = np.asarray(array.integers < 0, dtype=np.float64)
    return overridden(positive - negative, array.nonfinite)
