"""Errors of sums of weighed terms: those that the weights carry, their rounding, and that of the sum itself.

Every gradient of attention is such a sum: over the keys of a query, over the queries of a key and of all heads that
share it, or over the axes along which a mask was repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import DRIFT, INNER, ROUNDED_TWICE, drift_of_shares, norm, summation_error
from attnspec.bounds.tolerance import Estimate, Precision
from attnspec.families.attention.steps.rounding_cells import RoundedAlike, equal_terms

INDEPENDENT_CELLS = 2
"""Deviations of a sum of weights that are rounded to the dtype, each cell by itself, before they meet the values."""

_PRODUCTS_OF_A_WEIGHT = 2
"""A weight of a gradient is a product of up to three numbers: two roundings."""

_ROUNDINGS_OF_SCALE = 2
"""The scale may be applied after the sum, or split over its parts before it: two roundings either way."""

_LEAST = np.finfo(np.float64).tiny
"""The least divisor of sums."""


class Carried(NamedTuple):
    """Errors (..., B, H, R, n) of weights of a sum, with the signs of `marks` (B, H, R, n); equal marks err alike."""

    errors: NDArray[Any]
    marks: NDArray[Any]


class Terms(NamedTuple):
    """Terms of sums along the last axis: weights (B, H, R, n) and the errors that they carry.

    `flushed` (B, H, R, n) counts the smallest numbers that each weight may lose. `of_delta`: errors from the mean that
    was subtracted; `of_output`: the same from F features (..., F, B, H, R, n) of an output. The larger of both counts.
    """

    weights: NDArray[Any]
    carried: Sequence[Carried]
    flushed: NDArray[Any]
    of_delta: Carried | None = None
    of_output: Carried | None = None

    def arranged(self, arrange: Callable[[NDArray[Any]], NDArray[Any]]) -> Terms:
        """Return the same terms in another arrangement, which must leave axes for runs in front as they are."""

        def both(carried: Carried) -> Carried:
            return Carried(arrange(carried.errors), arrange(carried.marks))

        of_delta, of_output = (None if one is None else both(one) for one in (self.of_delta, self.of_output))
        return Terms(
            arrange(self.weights), [both(one) for one in self.carried], arrange(self.flushed), of_delta, of_output
        )


def rounding_to_the_dtype(precision: Precision) -> Any:
    """Return the relative loss of weights that are stored in the dtype of the results before a product.

    Fused kernels round them once; a chain of steps that are stored may do so twice.
    """
    return precision.output * (1 + ROUNDED_TWICE * precision.rounds_between_phases)


def weighed_sum(terms: Terms, numbers: NDArray[Any], precision: Precision, factor: float | None = None) -> Estimate:
    """Return sums (B, H, R, W) of weighed numbers (B, H, n, W), times `factor`, with errors and last rounding."""
    weights, size = terms.weights, 1.0 if factor is None else abs(factor)
    total = weights @ numbers
    at_sums, alike = precision.at_rank(total.ndim), RoundedAlike(weights)
    carried: Any = sum(_carried_error(entry, numbers, precision.stored) for entry in terms.carried)
    if terms.of_delta is not None and terms.of_output is not None:
        of_delta = _carried_error(terms.of_delta, numbers, precision.stored)
        carried = carried + _at_least_by_feature(of_delta, terms.of_output, numbers, precision.output)
    shares = np.abs(weights)
    shares = shares / np.maximum(shares.sum(axis=-1, keepdims=True), _LEAST)
    count = np.count_nonzero(weights, axis=-1, keepdims=True).astype(np.float64)
    drift = drift_of_shares(shares, count, precision)
    spread = alike.norm(weights, numbers, precision.accumulator)
    summed = summation_error(total, spread, count, precision, drift)
    if any(alike.has_cells(one) for one in np.ravel(precision.accumulator).tolist()):
        summed = summed + DRIFT * at_sums.accumulator * equal_terms(weights, numbers) * spread
    if factor is not None:
        of_parts = alike.norm(weights, numbers, precision.stored)
        summed = summed + _ROUNDINGS_OF_SCALE * at_sums.stored * (np.abs(total) + of_parts)
    rounding = rounding_to_the_dtype(at_sums) + _PRODUCTS_OF_A_WEIGHT * at_sums.accumulator
    rounded = INDEPENDENT_CELLS * rounding * alike.norm(weights, numbers, precision.output)
    error = size * (carried + INNER * summed + rounded + at_sums.output * np.abs(total))
    lost = np.any(terms.flushed > 0, axis=-1, keepdims=True) + max(1.0, size) * (terms.flushed @ np.abs(numbers))
    return Estimate(size * total if factor is None else factor * total, error + at_sums.smallest * lost * (size > 0))


def _carried_error(carried: Carried, numbers: NDArray[Any], unit: float | NDArray[Any]) -> NDArray[Any]:
    return RoundedAlike(carried.marks).norm(carried.errors, numbers, unit)


def _at_least_by_feature(
    least: NDArray[Any], carried: Carried, numbers: NDArray[Any], unit: float | NDArray[Any]
) -> NDArray[Any]:
    """Return the norm over features of what weights carry in each, where some are off alike; no less than `least`."""
    units = np.ravel(unit).tolist()
    alike = RoundedAlike(carried.marks)
    counts = np.array([alike.has_cells(one) for one in units])
    if not counts.any():
        return least
    *runs, features, batch, heads, rows, count = carried.errors.shape
    width = numbers.shape[-1]
    repeated = RoundedAlike(np.tile(carried.marks, (features, 1, 1, 1)))
    several = np.broadcast_to(numbers, (features, batch, heads, count, width)).reshape(-1, heads, count, width)
    errors = carried.errors.reshape(*runs, features * batch, heads, rows, count)
    norms = repeated.norm(errors, several, unit)
    found = norm(norms.reshape(*norms.shape[:-4], features, batch, heads, rows, width), axis=-5)
    return np.maximum(least, np.where(counts.reshape(-1, 1, 1, 1, 1) if runs else counts[0], found, 0.0))


def ones(count: int) -> NDArray[Any]:
    """Return what turns a sum of weighed numbers into a sum of weights (1, 1, count, 1)."""
    return np.ones((1, 1, count, 1))


def row_norm(carried: Carried, unit: float | NDArray[Any]) -> NDArray[Any]:
    """Return the norm of each row of errors, some of which are alike (..., R, 1)."""
    return RoundedAlike(carried.marks).norm(carried.errors, ones(carried.errors.shape[-1]), unit)
