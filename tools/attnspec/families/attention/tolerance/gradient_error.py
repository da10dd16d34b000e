"""The tolerance of the gradients of attention, sums of the gradients of the scores, and the range that bounds it.

A tolerance beyond the range says nothing. A weight lies between 0 and 1, so a mean of products lies between the least
and the greatest of them and 0, and the gradient of a score within a quarter of their range, since p (1 - p) is at most
1/4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import INNER
from attnspec.bounds.tolerance import Estimate, Precision
from attnspec.families.attention.tolerance.weighed_sums import Carried, Terms, ones, rounding_to_the_dtype, weighed_sum

if TYPE_CHECKING:
    from attnspec.families.attention.tolerance.score_gradients import ScoreGradients


@dataclass(frozen=True)
class GradientTolerance:
    """Float64 values and final tolerances of every gradient of attention, each computed when it is first read.

    `query` (B, Hq, Sq, E), `key` (B, Hq, K, E) repeated for the query heads that share it, of `key_heads`; `factor`:
    the scale.
    """

    precision: Precision
    scores: ScoreGradients
    query: NDArray[Any]
    key: NDArray[Any]
    factor: float
    key_heads: int

    @cached_property
    def delta(self) -> Estimate:
        """Means of the products of gradient and values, as an output."""
        value, error = self.scores.delta.value[..., 0], self.scores.delta.error[..., 0]
        return Estimate(value, error + self.precision.at_rank(value.ndim).output * np.abs(value))

    @cached_property
    def grad_scores(self) -> Estimate:
        """Gradients of the scores."""
        terms, precision = self.scores.score_gradient_terms, self.scores.at_scores
        carried: Any = sum(np.abs(entry.errors) for entry in (*terms.carried, terms.of_delta) if entry is not None)
        rounding = 2 * rounding_to_the_dtype(precision) + INNER * precision.accumulator
        error = carried + rounding * np.abs(terms.weights) + precision.smallest * terms.flushed
        return Estimate(terms.weights, error)

    @cached_property
    def grad_query(self) -> Estimate:
        """Sums over the keys: what all weights of a row are off by alike acts through the sums themselves."""
        scores = self.scores
        total = weighed_sum(scores.score_gradient_terms_over_keys, self.key, self.precision, self.factor)
        in_common = np.abs(self.factor * ((scores.weights * scores.slopes.value) @ self.key))
        error = scores.error_of_rows * np.abs(total.value) + (1 + scores.error_of_rows) * scores.delta.error * in_common
        return Estimate(total.value, total.error + error)

    @cached_property
    def grad_key(self) -> Estimate:
        """Sums over the queries of all heads that share a key head."""
        terms = self.scores.score_gradient_terms
        total = weighed_sum(terms.arranged(self._by_key), self._rows_of_group(self.query), self.precision, self.factor)
        return self._grouped(total, self.factor * (terms.weights.swapaxes(-1, -2) @ self.query))

    @cached_property
    def grad_value(self) -> Estimate:
        """Sums over the queries of all heads that share a value head, with the means that fully masked ones take."""
        scores = self.scores
        softmax, keys, live = scores.forward.softmax, scores.live.shape[-1], scores.averaged
        weights = np.where(live, softmax.shares[..., :keys], 0.0)
        errors = weights * (INNER * softmax.relative[..., :keys] + scores.error_of_rows)
        terms = Terms(weights, (Carried(errors, weights),), live.astype(np.float64))
        grad = scores.upstream.grad_output
        total = weighed_sum(terms.arranged(self._by_key), self._rows_of_group(grad), self.precision)
        return self._grouped(total, weights.swapaxes(-1, -2) @ grad)

    def grad_mask(self, shape: tuple[int, ...]) -> Estimate:
        """Return the gradients of a float mask of this shape: sums over the axes along which it was repeated."""
        terms = self.scores.logit_gradient_terms.arranged(lambda x: by_mask_element(x, shape))
        total = weighed_sum(terms, ones(terms.weights.shape[-1]), self.precision)
        return Estimate(total.value.reshape(shape), total.error.reshape(*total.error.shape[:-4], *shape))

    @cached_property
    def grad_sinks(self) -> Estimate:
        """Sums over all queries of a head."""
        scores = self.scores
        softmax, counted, precision = scores.forward.softmax, scores.counted, scores.at_scores
        weights = np.where(counted, softmax.shares[..., -1:], 0.0)
        relative = INNER * softmax.relative[..., -1:] + scores.error_of_rows
        subtracted = scores.delta.value - scores.upstream.grad_logsumexp
        of_delta = weights * (1 + relative) * (scores.delta.error + INNER * precision.stored * np.abs(subtracted))
        carried = (
            Carried(weights * subtracted * relative, weights),
            Carried(np.where(scores.delta.value < 0, -of_delta, of_delta), np.where(counted, scores.delta.value, 0.0)),
        )
        flushed = np.where(counted, 1 + np.abs(subtracted), 0.0)
        terms = Terms(-weights * subtracted, carried, flushed).arranged(_by_head)
        total = weighed_sum(terms, ones(terms.weights.shape[-1]), self.precision)
        return Estimate(total.value[0, 0, :, 0], total.error[..., 0, 0, :, 0])

    def _by_key(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return (..., B, Hkv, K, queries of all heads of the group) for (..., B, Hq, Sq, K)."""
        return self._rows_of_group(x).swapaxes(-1, -2)

    def _rows_of_group(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return (..., B, Hkv, queries of all heads of the group, W) for (..., B, Hq, Sq, W)."""
        *outer, heads, queries, width = x.shape
        return x.reshape(*outer, self.key_heads, heads // max(self.key_heads, 1) * queries, width)

    def over_group(self, of_heads: NDArray[Any]) -> NDArray[Any]:
        """Return sums over the heads of each group: (B, Hkv, K, W) for (B, Hq, K, W)."""
        batch, heads, *rest = of_heads.shape
        return of_heads.reshape(batch, self.key_heads, heads // max(self.key_heads, 1), *rest).sum(axis=2)

    def _grouped(self, total: Estimate, of_heads: NDArray[Any]) -> Estimate:
        """Return sums over a group of heads, of which each head's part may be rounded before they are added."""
        if of_heads.shape[1] == self.key_heads:
            return total
        parts = self.over_group(np.abs(of_heads))
        return Estimate(total.value, total.error + self.precision.at_rank(parts.ndim).output * parts)


def by_mask_element(x: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return numbers of scores (..., B, Hq, Sq, K) as (..., 1, 1, M, n): M mask elements, each added to n scores."""
    full = (1,) * (4 - len(shape)) + shape
    axes = [axis for axis in range(-4, 0) if full[axis] == 1]
    count = math.prod(x.shape[axis] for axis in axes)
    moved = np.moveaxis(x, axes, range(-len(axes), 0)) if axes else x
    return moved.reshape(*x.shape[:-4], 1, 1, math.prod(shape), count)


def _by_head(x: NDArray[Any]) -> NDArray[Any]:
    """Return (..., 1, 1, Hq, B Sq) for (..., B, Hq, Sq, 1)."""
    *runs, batch, heads, queries, _ = x.shape
    return np.moveaxis(x, -4, -3).reshape(*runs, 1, 1, heads, batch * queries)


_LARGEST_VARIANCE = 0.25
"""The most of p (1 - p), and of the mean of squared distances from the mean of numbers within a range of 1."""


class GradientRange:
    """Half the range of every gradient."""

    def __init__(self, gradients: GradientTolerance) -> None:
        self._gradients = gradients
        scores = gradients.scores
        products = np.where(scores.live, scores.products.value, 0.0)
        self._width = products.max(axis=-1, keepdims=True, initial=0.0) - products.min(
            axis=-1, keepdims=True, initial=0.0
        )
        of_logsumexp = np.abs(scores.upstream.grad_logsumexp)
        self._of_each = np.where(scores.live, _LARGEST_VARIANCE * self._width + of_logsumexp / 2, 0.0)
        self._of_row = self._width / 2 + np.where(scores.counted, of_logsumexp, 0.0)

    def delta(self) -> NDArray[Any]:
        """Return half the range of the products of each query, 0 among them (B, Hq, Sq)."""
        return self._width[..., 0] / 2

    def grad_scores(self) -> NDArray[Any]:
        """Return how far the gradient of each score may lie from 0."""
        return self._of_each

    def grad_query(self) -> NDArray[Any]:
        """Return how far a sum over keys may: the gradients of a row come to at most half the range of products."""
        scores, gradients = self._gradients.scores, self._gradients
        key = np.abs(gradients.key).max(axis=-2, keepdims=True, initial=0.0)
        return np.where(scores.live.any(axis=-1, keepdims=True), abs(gradients.factor) * self._of_row * key, 0.0)

    def grad_key(self) -> NDArray[Any]:
        """Return how far a sum over queries may."""
        gradients = self._gradients
        of_heads = self._of_each.swapaxes(-1, -2) @ np.abs(gradients.query)
        return abs(gradients.factor) * gradients.over_group(of_heads)

    def grad_value(self) -> NDArray[Any]:
        """Return half the range of sums in which each gradient of the output may count whole or not at all."""
        scores = self._gradients.scores
        live = scores.averaged.astype(np.float64).swapaxes(-1, -2)
        return self._gradients.over_group(live @ np.abs(scores.upstream.grad_output)) / 2

    def grad_mask(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return how far the gradient of each element of a mask may lie from 0."""
        return by_mask_element(self._of_each, shape).sum(axis=-1).reshape(shape)

    def grad_sinks(self) -> NDArray[Any]:
        """Return how far the gradient of each sink may lie from 0."""
        scores = self._gradients.scores
        of_rows = np.where(scores.counted, _LARGEST_VARIANCE * self._width, 0.0)
        of_rows = of_rows + np.where(scores.counted, np.abs(scores.upstream.grad_logsumexp), 0.0)
        return of_rows.sum(axis=(0, 2, 3))
