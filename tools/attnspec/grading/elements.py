"""Outputs against expected values, element by element: within their tolerance, or where any such number must lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import ANY, LARGEST
from attnspec.grading.stored_tolerance import StoredTolerance

if TYPE_CHECKING:
    from attnspec.bounds.tolerance import UnsampledInterval
    from attnspec.grading.expectation import Run, Values


@dataclass(frozen=True)
class Worst:
    """The element that lies furthest outside (or inside) its tolerance, in float64.

    The ratio is error / tolerance; infinite where the tolerance is 0 or the value has the wrong kind.
    """

    output: str
    index: tuple[int, ...]
    expected: float
    got: float
    error: float
    tolerance: float
    ratio: float


class InInterval(NamedTuple):
    """The elements of an output that are bounded by an interval alone: finite values whose tolerance says nothing.

    The ends have the shape of the output; they are infinite where elements need only be finite.
    """

    elements: NDArray[np.bool_]
    lowest: NDArray[Any]
    highest: NDArray[Any]

    def within(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which numbers are finite and lie within the interval."""
        return np.isfinite(numbers) & (numbers >= self.lowest) & (numbers <= self.highest)


class Compared(NamedTuple):
    """One output beside its expected values, element by element, in float64; of a sample (flat indices), these alone.

    `shape` is that before thinning. Ratios are error / tolerance, negative for elements that are not graded, unless
    these leave their interval and are wrong; `top` is the largest ratio, at the index `position`.
    """

    name: str
    shape: tuple[int, ...]
    sample: NDArray[np.int64] | None
    expected: NDArray[Any]
    given: NDArray[Any]
    error: NDArray[Any]
    tolerance: NDArray[Any]
    ratios: NDArray[Any]
    position: int
    top: float
    graded: int
    ungraded: int
    in_interval: InInterval | None = None

    @property
    def wrong(self) -> bool:
        """Whether an element is wrong."""
        return self.graded > 0 and not self.top <= 1

    @property
    def median(self) -> float | None:
        """The (upper) median ratio of the graded elements; those that are not graded sort before them."""
        if not self.graded:
            return None
        ordered = self.ratios.flatten()
        ordered.sort()
        return ordered.item(self.ungraded + self.graded // 2)

    def element(self, position: int) -> Worst:
        """Return the numbers of one element, by its flat index in the arrays."""
        left, index = position if self.sample is None else self.sample.item(position), [0] * len(self.shape)
        # NumPy's own unravel_index takes three times as long for one element, and every result has one.
        for axis in reversed(range(len(index))):
            left, index[axis] = divmod(left, self.shape[axis])
        numbers = (self.expected, self.given, self.error, self.tolerance, self.ratios)
        return Worst(self.name, tuple(index), *[array.item(position) for array in numbers])


def compare(run: Run, expected: Values, name: str, got: NDArray[Any], index: int) -> Compared:
    """Return one output, in the expected shape or thinned to its sample (N,), beside its expected values.

    `index` is the index of the run, or of its fused grade, among those that its tolerances stand for.
    """
    shape, sample = expected.thinned.get(name, got.shape), expected.sample.get(name)
    expected_output: NDArray[Any] = expected.outputs[name]
    assert run.bound is not None
    to_interval = in_interval(run, expected, name, index)
    exact = run.operation.outputs_by_name[name].exact
    tolerance = np.zeros(expected_output.shape) if exact else run.bound.error(name, index)
    left_out = either(left_open(run, expected, name), None if to_interval is None else to_interval.elements)
    if sample is not None and name not in expected.thinned:
        got, expected_output, tolerance = (np.take(tensor, sample) for tensor in (got, expected_output, tolerance))
        left_out = None if left_out is None else np.take(left_out, sample)
        to_interval = None if to_interval is None else InInterval(*(np.take(part, sample) for part in to_interval))
    given, expected_output = got.astype(np.float64, copy=False), expected_output.astype(np.float64, copy=False)
    error = np.abs(given - expected_output)
    ratio = error / tolerance
    at, top = _largest(ratio)
    # A largest ratio that is finite leaves nothing to explain: no NaN, no infinity, no tolerance of 0. Where there is
    # one, it is mostly of equal numbers: a weight of an excluded key, which has no tolerance.
    if not math.isfinite(top):
        same = given == expected_output
        error, ratio = np.where(same, 0.0, error), np.where(same, 0.0, ratio)
        at, top = _largest(ratio)
    if not math.isfinite(top):
        same = _is_same(given, expected_output, run.dtype, tolerance)
        also = run.family.also_right(run.operation.name, name, given, expected_output)
        if also is not None:
            same |= also
        error = np.where(same, 0.0, error)
        ratio = np.where(same, 0.0, ratio)
        ratio[np.isnan(ratio)] = np.inf
        at, top = _largest(ratio)
    ungraded = 0 if left_out is None else int(np.count_nonzero(left_out))
    if left_out is not None and ungraded:
        ratio = np.where(left_out, -1.0, ratio)
        if to_interval is not None:
            outside = to_interval.elements & ~to_interval.within(given) & ~_is_same(given, expected_output, run.dtype)
            ratio = np.where(outside, np.inf, ratio)
            ungraded -= int(np.count_nonzero(outside))
        at, top = _largest(ratio)
    graded = ratio.size - ungraded
    return Compared(
        name, shape, sample, expected_output, given, error, tolerance, ratio, at, top, graded, ungraded, to_interval
    )


def left_open(run: Run, expected: Values, name: str) -> NDArray[np.bool_] | None:
    """Return the elements of an output that may hold anything, or None for none."""
    assert run.bound is not None
    return either(run.bound.unspecified.get(name), expected.ungraded.get(name))


def in_interval(run: Run, expected: Values, name: str, index: int) -> InInterval | None:
    """Return the elements of an output that an interval alone bounds, or None for none; `index` as in `compare`."""
    if name in expected.within:
        return _in_declared_interval(run, expected, name, index)
    assert run.bound is not None
    if isinstance(run.bound, StoredTolerance):
        stored = run.bound.ends(name, index)
        return None if stored is None else InInterval(*stored)
    vacuous, tolerance = run.bound.vacuous(name, index), run.bound.error(name, index)
    # A finite sum has finite terms.
    if not math.isfinite(tolerance.sum()):
        vacuous = either(vacuous, ~np.isfinite(tolerance))
    if vacuous is None or not vacuous.any():
        return None
    expected_output, open_elements = expected.outputs[name], left_open(run, expected, name)
    elements = vacuous & np.isfinite(expected_output)
    if open_elements is not None:
        elements &= ~open_elements
    if not elements.any():
        return None
    interval = run.bound.interval(name, index)
    ends = (-np.inf, np.inf) if interval is None else interval
    return InInterval(elements, *(np.broadcast_to(end, expected_output.shape) for end in ends))


def _in_declared_interval(run: Run, expected: Values, name: str, index: int) -> InInterval:
    """Return the elements of which a declaration says no more than an interval, beside those of `in_interval`."""
    found, shape = in_interval(run, expected._replace(within={}), name, index), expected.outputs[name].shape
    elements, lowest, highest = (np.broadcast_to(part, shape) for part in expected.within[name])
    open_elements = left_open(run, expected, name)
    elements = elements if open_elements is None else elements & ~open_elements
    if found is None:
        return InInterval(elements, lowest, highest)
    ends = ((lowest, found.lowest), (highest, found.highest))
    return InInterval(elements | found.elements, *(np.where(elements, end, other) for end, other in ends))


def either(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return where one of two holds; None is nowhere."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def _largest(ratios: NDArray[Any]) -> tuple[int, float]:
    """Return index and size of the largest ratio; NaN counts as larger than any number."""
    if not ratios.size:
        return 0, 0.0
    index = int(ratios.argmax())
    return index, ratios.item(index)


def _is_same(
    given: NDArray[Any], expected: NDArray[Any], dtype: str, tolerance: NDArray[Any] | float = 0.0
) -> NDArray[np.bool_]:
    """Return where two numbers are equal, NaN among them; infinities also stand for numbers beyond the dtype."""
    same = (given == expected) | (np.isnan(given) & np.isnan(expected))
    if dtype not in (ANY, "float64"):
        same |= np.isinf(given) & (np.sign(given) == np.sign(expected)) & may_be_infinite(expected, dtype, tolerance)
    return same


def may_be_infinite(expected: NDArray[Any], dtype: str, tolerance: NDArray[Any] | float = 0.0) -> NDArray[np.bool_]:
    """Return the numbers for which infinity stands in a dtype: those that it cannot hold, or nearly cannot.

    Nearly is within the tolerance, unless that is larger than the number itself and says nothing of its size.
    """
    size = np.abs(expected)
    return (size > LARGEST[dtype]) | ((size > tolerance) & (size + tolerance > LARGEST[dtype]))


_BLOCK = 2**18
"""Elements that are looked at together."""


def sampled_outputs(
    run: Run, expected: Values, got: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], Worst | None]:
    """Return the sampled elements of every output (N,), and one elsewhere that no right answer can hold.

    An output of another shape than expected stays as it is, so that its shape can be reported.
    """
    left: dict[str, NDArray[Any]] = {}
    stray: Worst | None = None
    for name, array in got.items():
        if name not in expected.thinned:
            continue
        if array.shape != expected.thinned[name]:
            left[name] = array
            continue
        left[name] = np.take(array, expected.sample[name])
        known = None if run.bound is None else run.bound.interval_outside_sample(name, run.bound_index)
        if known is not None:
            stray = stray or _stray(name, array, known)
    return left, stray


def _stray(name: str, array: NDArray[Any], known: UnsampledInterval) -> Worst | None:
    """Return the first element that is not finite or lies outside of its interval; None where there is none."""
    shape = array.shape
    lowest, highest, left_open = (np.broadcast_to(part, shape) for part in known)
    rows = max(1, _BLOCK // max(shape[-1], 1))
    for matrix in np.ndindex(shape[:-2]):
        for start in range(0, shape[-2], rows):
            part = (*matrix, slice(start, start + rows))
            given = array[part].astype(np.float64)
            within = (given >= lowest[part]) & (given <= highest[part]) | left_open[part]
            if not within.all():
                row, feature = map(int, np.argwhere(~within)[0])
                index = (*matrix, start + row, feature)
                number, low, high = float(given[row, feature]), float(lowest[index]), float(highest[index])
                nearest = low if number < low else high
                return Worst(name, index, nearest, number, abs(number - nearest), high - low, np.inf)
    return None
