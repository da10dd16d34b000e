"""Range of the gradients of attention, whatever the weights came to: a tolerance beyond it says nothing.

A weight lies between 0 and 1, so a mean of products lies between the least and the greatest of them and 0, and the
gradient of a score within a quarter of their range, since p (1 - p) is at most 1/4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from attnspec.families.attention.tolerance.gradient_error import GradientTolerance

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

    def grad_mask(self, shape: tuple[int, ...], arrange: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        """Return how far the gradient of each element of a mask may lie from 0."""
        return arrange(self._of_each, shape).sum(axis=-1).reshape(shape)

    def grad_sinks(self) -> NDArray[Any]:
        """Return how far the gradient of each sink may lie from 0."""
        scores = self._gradients.scores
        of_rows = np.where(scores.counted, _LARGEST_VARIANCE * self._width, 0.0)
        of_rows = of_rows + np.where(scores.counted, np.abs(scores.upstream.grad_logsumexp), 0.0)
        return of_rows.sum(axis=(0, 2, 3))
