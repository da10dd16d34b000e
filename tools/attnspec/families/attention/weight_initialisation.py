"""Properties of random weights, whatever generator made them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import is_float
from attnspec.families.record import Arrays, PropertyProblem

FEWEST_ELEMENTS = 4_096
"""Elements of the smallest matrix whose properties are graded."""

STANDARD_ERRORS = 6
"""How many standard errors mean and standard deviation may lie from what they should be."""

BEYOND = 2.5
"""Standard deviations that some element of a normal sample exceeds: of 4096, all miss it with a chance of 1e-22.

A normal distribution that is cut off at two standard deviations and stretched to the same variance ends at 2.27.
"""

SMALLEST_PROBABILITY = 1e-9
"""Kolmogorov-Smirnov probability below which a sample is no sample of the normal distribution."""


def lacks_property(operation: str, attributes: Mapping[str, Any], outputs: Arrays) -> PropertyProblem | None:
    """Return the property that a Glorot-normal sample (fan_in, fan_out) of at least 4096 numbers lacks, or None.

    Clauses ``glorot_normal.shape``, ``.mean``, ``.standard_deviation``, ``.distribution``, ``.tails``.
    """
    assert operation == "glorot_normal"
    sample = outputs["output"]
    shape = (attributes["fan_in"], attributes["fan_out"])
    if sample.shape != shape:
        return PropertyProblem("shape", f"output has the shape {sample.shape}; expected {shape}")
    if not is_float(sample.dtype):
        return PropertyProblem("dtype", f"output is {sample.dtype}; expected a float dtype")
    numbers = sample.astype(np.float64).ravel()
    expected = math.sqrt(2 / (shape[0] + shape[1]))
    problem = _moment_problem(numbers, expected, numbers.size)
    if problem is None:
        probability = _normal_probability(numbers / expected)
        if probability < SMALLEST_PROBABILITY:
            problem = (
                f"the sample is not normal: its Kolmogorov-Smirnov probability is {probability:.1e}, "
                f"below {SMALLEST_PROBABILITY:.0e}"
            )
    if problem is None and np.max(np.abs(numbers)) <= BEYOND * expected:
        problem = f"the sample is cut off: no element lies more than {BEYOND} standard deviations from 0"
    return None if problem is None else PropertyProblem("values", problem)


def _moment_problem(numbers: NDArray[Any], expected: float, count: int) -> str | None:
    if not np.isfinite(numbers).all():
        return "the sample holds numbers that are not finite"
    mean, deviation = float(np.mean(numbers)), float(np.std(numbers))
    mean_error, deviation_error = expected / math.sqrt(count), expected / math.sqrt(2 * count)
    if abs(mean) > STANDARD_ERRORS * mean_error:
        return f"the mean is {mean:.4g}; expected 0 within {STANDARD_ERRORS * mean_error:.2g}"
    if abs(deviation - expected) > STANDARD_ERRORS * deviation_error:
        return (
            f"the standard deviation is {deviation:.4g}; expected sqrt(2 / (fan_in + fan_out)) = {expected:.4g} "
            f"within {STANDARD_ERRORS * deviation_error:.2g}"
        )
    return None


def _normal_probability(standardised: NDArray[Any]) -> float:
    """Return the asymptotic Kolmogorov-Smirnov probability that the sample is standard normal."""
    ordered = np.sort(standardised)
    count = ordered.size
    # Read off a table: its error, below 1e-4, is far below the distances that matter.
    grid = np.linspace(-8.0, 8.0, 513)
    table = [0.5 * math.erfc(-number / math.sqrt(2)) for number in grid]
    below = np.interp(ordered, grid, table)
    steps = np.arange(count + 1) / count
    distance = float(max(np.max(steps[1:] - below), np.max(below - steps[:-1])))
    interval = (math.sqrt(count) + 0.12 + 0.11 / math.sqrt(count)) * distance
    terms = [(-1) ** (k - 1) * math.exp(-2 * (k * interval) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2 * math.fsum(terms))) if interval > 0.2 else 1.0
