"""The error bound of two merged parts of attention: a softmax over two columns, and the average of two outputs.

Both forms in use are right: the parts weighed, added and divided by the sum of their weights, and one part moved
towards the other by a share. The second costs digits where the outputs are of very different size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import INNER, exactly, exponent_error
from attnspec.bounds.tolerance import Estimate, Interval, Precision, Tolerance, identity

if TYPE_CHECKING:
    from attnspec.families.record import Arrays

_LOWEST = np.finfo(np.float64).min

_ROUNDINGS_OF_AVERAGE = 2
"""Roundings of each weighed output (of its share, of the product), and of their sum (of itself, of the total)."""

_ROUNDINGS_OF_BLEND = 4
"""Roundings of a difference of outputs times a share: the difference, the share (two of a sigmoid), the product."""

_ROUNDINGS_OF_TOTAL = 2
"""Roundings of the logarithm of a total between 1 and 2: of the total, and of the logarithm."""

_ROUNDINGS_OF_BASE_2 = 2
"""A logarithm is turned into one to the base 2 in float64: the factor and the product are each rounded."""

_UNIT_OF_FLOAT64 = 2.0**-53


class MergeBound(Tolerance):
    """Values and tolerances of two merged parts, with elements that parts without keys and infinities decide.

    `without_keys` (B, H, S) neither part has keys; `poisoned` (B, H, S, Ev) a part without keys is not finite;
    `drowned` a part that is not finite has a weight that a run cannot hold; of `open_rows` (B, H, S) a logarithm is NaN
    or plus infinity.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        vacuous: Mapping[str, Callable[[], NDArray[np.bool_]]],
        *,
        interval: Mapping[str, Callable[[], Interval]],
        without_keys: NDArray[np.bool_],
        poisoned: NDArray[np.bool_],
        drowned: Callable[[int], NDArray[np.bool_]],
        open_rows: NDArray[np.bool_],
    ) -> None:
        super().__init__(estimates, vacuous, {"logsumexp": without_keys}, interval=interval)
        self.without_keys = without_keys
        self.poisoned = poisoned
        self.drowned = drowned
        self.open_rows = open_rows


def merge_tolerance(inputs: Arrays, precision: Precision, *, base_2: bool) -> MergeBound:
    """Return values and tolerances of two merged parts; with `base_2`, logarithms are given and expected to base 2.

    The logarithms in `inputs`, which are as the run sees them, are natural ones in either case.
    """
    parts = _Parts(inputs, precision, base_2=base_2)
    return MergeBound(
        {"output": lambda: parts.output, "logsumexp": lambda: parts.logsumexp},
        {"output": lambda: parts.vacuous},
        interval={"output": partial(identity, parts.interval)},
        without_keys=~(parts.live[..., 0] | parts.live[..., 1]),
        poisoned=np.any(~np.isfinite(parts.raw) & ~parts.live[..., np.newaxis], axis=-2),
        drowned=parts.drowned,
        open_rows=parts.open_rows,
    )


class _Parts:
    """Two parts side by side: logarithms (B, H, S, 2), outputs (B, H, S, 2, Ev)."""

    def __init__(self, inputs: Arrays, precision: Precision, *, base_2: bool) -> None:
        logarithms = np.stack([inputs["logsumexp_a"], inputs["logsumexp_b"]], axis=-1)
        self.raw = np.stack([inputs["output_a"], inputs["output_b"]], axis=-2)
        self.base_2 = base_2
        self.live = logarithms > -np.inf
        self.live |= np.isnan(logarithms)
        self.open_rows = np.any(np.isnan(logarithms) | np.isposinf(logarithms), axis=-1)
        self.both = self.live.all(axis=-1, keepdims=True)
        self._precision = precision
        self._logarithms = np.where(self.live, exactly(logarithms).value, -np.inf)
        self._values = np.where(self.live[..., np.newaxis], exactly(self.raw).value, 0.0)
        largest = np.maximum(self._logarithms.max(axis=-1, keepdims=True), _LOWEST)
        self._distance = largest - self._logarithms
        weights = np.exp(-self._distance)
        total = weights.sum(axis=-1, keepdims=True)
        self.shares = weights / np.maximum(total, 1.0)
        self._logsumexp = np.where(total > 0, largest + np.log(np.maximum(total, 1.0)), -np.inf)
        self._size = np.where(total > 0, np.abs(self._logsumexp), 0.0)

    def drowned(self, run: int) -> NDArray[np.bool_]:
        """Return the elements (B, H, S, Ev) that a part goes into whose weight a run is too coarse for."""
        smallest = np.ravel(self._precision.smallest)[run if np.ndim(self._precision.smallest) else 0]
        too_light = self.live & (self.shares < smallest)
        return np.any(too_light[..., np.newaxis] & ~np.isfinite(self.raw), axis=-2)

    @cached_property
    def _error_of_exponents(self) -> NDArray[Any]:
        """Relative error of both weights (..., B, H, S, 2)."""
        size = np.where(self.live, np.abs(self._logarithms), 0.0)
        at = self._precision.at_rank(size.ndim)
        # A logarithm may be scaled before the larger one is subtracted, as where exp is computed by exp2.
        units = at.accumulator
        if self.base_2:
            units = units + at.output + _ROUNDINGS_OF_BASE_2 * _UNIT_OF_FLOAT64
        return exponent_error(self._distance, units * size, self._precision)

    @property
    def _carried_error(self) -> NDArray[Any]:
        """Relative error of shares that are powers of a logarithm's distance from the rounded merged one."""
        at = self._precision.at_rank(self._size.ndim)
        return np.minimum(at.stored * self._size, np.sqrt(at.stored))

    @cached_property
    def logsumexp(self) -> Estimate:
        """The logarithm of both sums of exponentials; either part's may have been subtracted."""
        at = self._precision.at_rank(self._size.ndim)
        live_sizes = np.where(self.live, np.abs(self._logarithms), 0.0).sum(axis=-1, keepdims=True)
        from_parts = (self.shares * self._error_of_exponents).sum(axis=-1, keepdims=True)
        from_total = at.stored * (_ROUNDINGS_OF_TOTAL + self._size)
        error = INNER * (from_parts + from_total) + at.stored * live_sizes + at.output * self._size + at.smallest
        value = self._logsumexp
        if self.base_2:
            value = value * math.log2(math.e)
            error = math.log2(math.e) * (error + _ROUNDINGS_OF_BASE_2 * at.output * self._size)
        return Estimate(value[..., 0], np.where(np.isfinite(value), error, 0.0)[..., 0])

    @cached_property
    def output(self) -> Estimate:
        """The average of both outputs; that of a part which stands alone is moved, not computed."""
        value = (self.shares[..., np.newaxis] * self._values).sum(axis=-2)
        size, gross = np.abs(value), (self.shares[..., np.newaxis] * np.abs(self._values)).sum(axis=-2)
        # A share of two moves by the product of both for each relative error of a weight.
        moved = self.shares.prod(axis=-1, keepdims=True) * self._error_of_exponents.sum(axis=-1, keepdims=True)
        heavier = self.shares.max(axis=-1, keepdims=True)
        error = INNER * moved * self._output_gap + self._error_of_average(size, gross, heavier * self._output_gap)
        # An implementation that computes float64 in float32 inside rounds numbers that are only moved, too.
        at = self._precision.at_rank(value.ndim)
        of_moved = np.where(at.accumulator > at.output, at.accumulator * size + at.smallest, 0.0)
        return Estimate(value, np.where(self.both, error, of_moved))

    @property
    def vacuous(self) -> NDArray[np.bool_]:
        """Elements whose tolerance exceeds half of the distance between both outputs."""
        return self.both & (self._output_gap > 0) & (2 * self.output.error > self._output_gap)

    @cached_property
    def interval(self) -> Interval:
        """The two outputs, between which every average lies, but for the roundings of the average itself."""
        lowest, highest = self._values.min(axis=-2), self._values.max(axis=-2)
        farthest = np.maximum(np.abs(lowest), np.abs(highest))
        beyond = self._error_of_average(farthest, farthest, self._output_gap)
        return Interval(lowest - beyond, highest + beyond)

    @property
    def _output_gap(self) -> NDArray[Any]:
        """How far the outputs of both parts lie apart (B, H, S, Ev)."""
        return np.abs(self._values[..., 0, :] - self._values[..., 1, :])

    def _error_of_average(self, size: NDArray[Any], gross: NDArray[Any], blended: NDArray[Any]) -> NDArray[Any]:
        """Return the error of averaging two outputs by itself, from absolute values (B, H, S, Ev).

        These are of the averages, of both weighed outputs, summed, and of the difference that is added to one output
        where the average is taken by moving it.
        """
        at = self._precision.at_rank(size.ndim)
        rounded = at.stored * (_ROUNDINGS_OF_AVERAGE * (size + gross) + _ROUNDINGS_OF_BLEND * blended)
        flushed = at.smallest * (1 + np.abs(self._values).sum(axis=-2))
        return rounded + INNER * self._carried_error * size + at.output * size + flushed
