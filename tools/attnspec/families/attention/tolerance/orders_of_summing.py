"""Errors of two orders of summing that software takes: lanes that sum every second key, and running maxima.

A sum in the order of the keys keeps its partial sums small where values cancel from key to key. A vector unit that sums
in lanes does not: where the signs take turns as the lanes do, each lane gathers values of one sign, and its losses on
the way are left when the lanes cancel. An online softmax corrects its sums whenever it meets a larger logit; where
logits rise by the same step again and again, the same rounding of the same factor is taken each time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import DRIFT, FEW_TERMS
from attnspec.bounds.tolerance import Precision

LANES = (2, 4, 8, 16, 32)
"""How many keys are summed beside each other: by the registers of processors, and by loops that are unrolled."""

_OF_A_CORRECTION = 2
"""Units that a factor of correction is off by: those of an exponential near 1."""


def error_of_lanes(
    shares: NDArray[Any], value: NDArray[Any], terms: NDArray[Any] | int, precision: Precision
) -> NDArray[Any] | float:
    """Return the error (B, H, Sq, Ev), runs in front, of sums by lanes, where all terms of a lane are of one sign.

    Each lane drifts as any sum of like terms does, by a share of its own total; the totals may cancel, their losses do
    not. Signs that take turns with two keys or four came to 66 tolerances of before (`spec/studies/draw-alarms.md`).
    """
    largest: Any = 0.0
    for lanes in LANES:
        if shares.shape[-1] < 2 * lanes:
            break
        weights, values = _in_lanes(shares, lanes, axis=-1), _in_lanes(value, lanes, axis=-2)
        totals, sizes = np.abs(weights @ values), weights @ np.abs(values)
        # The share of its terms that a lane sums to: all of them drift where they are alike, few where they are random.
        alike = np.divide(totals, sizes, out=np.zeros_like(totals), where=sizes > 0)
        each = np.where(np.greater(terms, max(FEW_TERMS, 2 * lanes - 1)), terms, 0) / lanes
        largest = np.maximum(largest, each * (totals * alike).sum(axis=-3))
    return precision.at_rank(value.ndim).accumulator * DRIFT * largest


def _in_lanes(array: NDArray[Any], lanes: int, axis: int) -> NDArray[Any]:
    """Return what each lane sums (B, H, lanes, ...), of an array whose keys lie along an axis; zeros at its end."""
    left = -array.shape[axis] % lanes
    if left:
        behind = list(array.shape)
        behind[axis] = left
        array = np.concatenate([array, np.zeros(behind)], axis=axis)
    keys = array.shape[axis] // lanes
    if axis == -1:
        return np.moveaxis(array.reshape(*array.shape[:-1], keys, lanes), -1, -3)
    return np.moveaxis(array.reshape(*array.shape[:-2], keys, lanes, array.shape[-1]), -2, -3)


def error_of_corrections(
    logits: NDArray[Any],
    shares: NDArray[Any],
    value: NDArray[Any],
    output: NDArray[Any],
    terms: NDArray[Any] | int,
    precision: Precision,
) -> NDArray[Any] | float:
    """Return the error (B, H, Sq, Ev), runs in front, of a running maximum's corrections, if all go one way.

    The weight of a key is corrected as often as the maximum rises after it. The part that all keys share cancels, so
    that each acts through the distance of its value from the output. The worse end to start from counts.
    """
    largest: Any = 0.0
    for step in (1, -1):
        corrected = shares * _corrections(logits[..., ::step])[..., ::step]
        moved = corrected @ value - corrected.sum(axis=-1, keepdims=True) * output
        largest = np.maximum(largest, np.where(np.greater(terms, FEW_TERMS), np.abs(moved), 0.0))
    return precision.at_rank(value.ndim).accumulator * _OF_A_CORRECTION * largest


def _corrections(logits: NDArray[Any]) -> NDArray[np.int64]:
    """Return how often the running maximum rises after each key."""
    running = np.maximum.accumulate(logits, axis=-1)
    rises = np.zeros(logits.shape, dtype=np.int64)
    rises[..., 1:] = running[..., 1:] > running[..., :-1]
    return rises.sum(axis=-1, keepdims=True) - rises.cumsum(axis=-1)
