"""Errors of the gradients of the scores: of weights, of products of gradient and values, and of their mean in a row.

With P the weights, dP the products, D the mean, g the gradient of the logsumexp and G the slope of the cap, the
gradient of a score is P (dP - D + g) G. See ``spec/decisions/0033-gradient-tolerance.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import INNER, denominator_error, logarithm_error, norm, summation_error
from attnspec.bounds.tolerance import Estimate, Precision
from attnspec.families.attention.steps.rounding_cells import weighed_norm
from attnspec.families.attention.tolerance.weighed_sums import (
    INDEPENDENT_CELLS,
    Carried,
    Terms,
    rounding_to_the_dtype,
    row_norm,
)

if TYPE_CHECKING:
    from attnspec.families.attention.tolerance.error_bound import AttentionTolerance

_LARGEST_EXPONENT = 50.0
"""An exponent that is off by so much leaves no digit."""

_FLATTEST = 300.0
"""Multiples of the cap from which on its slope, below 1e-260, is taken for one: cosh stays finite when squared."""

_STEPS_OF_A_DISTANCE = 2
"""Product and distance are each stored, and may be flushed."""

_ROUNDINGS_OF_TANH = 2
"""The hyperbolic tangent is rounded, or taken from the capped score by a division."""


class Upstream(NamedTuple):
    """Gradients given to a backward pass: of the output (B, Hq, Sq, Ev), of the logsumexp (B, Hq, Sq, 1) or 0.

    With `has_logsumexp` the logsumexp is given, and thus rounded to the dtype of the run.
    """

    grad_output: NDArray[Any]
    grad_logsumexp: Any
    has_logsumexp: bool


@dataclass(frozen=True)
class ScoreGradients:
    """Gradients of scores and logits, and their errors; `value` (B, Hq, K, Ev) is without that of a sink."""

    precision: Precision
    forward: AttentionTolerance
    value: NDArray[Any]
    upstream: Upstream
    softcap: float | None

    @cached_property
    def at_scores(self) -> Precision:
        """Unit roundoffs that broadcast against scores."""
        return self.precision.at_rank(4)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Queries that count (B, Hq, Sq, 1): those within ``query_lengths``."""
        padding, shape = self.forward.keys.padding, self.forward.keys.attendable.shape
        return np.ones((*shape[:-1], 1), np.bool_) if padding is None else ~padding[..., None]

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Which key each query that counts may attend (B, Hq, Sq, K)."""
        return self.forward.keys.attendable & self.counted

    @cached_property
    def averaged(self) -> NDArray[np.bool_]:
        """Which values each query that counts averages: those of its live keys, or those that a convention says."""
        return self.forward.live[..., : self.live.shape[-1]] & self.counted

    @cached_property
    def weights(self) -> NDArray[Any]:
        """Shares of the keys (B, Hq, Sq, K); 0 in fully masked rows, whatever these average."""
        return np.where(self.live, self.forward.softmax.shares[..., : self.live.shape[-1]], 0.0)

    @cached_property
    def relative(self) -> NDArray[Any]:
        """Relative error of each weight by itself, doubled as the errors of inner phases are."""
        own = self.forward.softmax.relative[..., : self.live.shape[-1]]
        return np.where(self.live, INNER * own, 0.0)

    @cached_property
    def error_of_rows(self) -> NDArray[Any]:
        """Relative error that all weights of a row share (..., B, Hq, Sq, 1).

        Weights that are recomputed from the logsumexp do not sum to 1: the errors that softmax cancels stay. A
        logsumexp that is given in the dtype of the run is off by its rounding.
        """
        softmax, precision = self.forward.softmax, self.at_scores
        moved = Carried(np.where(self.forward.live, softmax.moved, 0.0), softmax.shares)
        denominator = denominator_error(softmax.drift, precision) + logarithm_error(softmax.logarithm, precision)
        error = INNER * (denominator + row_norm(moved, self.precision.stored))
        if self.upstream.has_logsumexp:
            rounding = np.minimum(precision.output * softmax.logarithm, _LARGEST_EXPONENT)
            error = error + INNER * np.expm1(rounding)
        return np.where(self.counted, error, 0.0)

    @cached_property
    def moved(self) -> NDArray[Any]:
        """How large the weights may come out: what else is off counts with that."""
        return self.weights * (1 + np.minimum(self.relative + self.error_of_rows, np.expm1(_LARGEST_EXPONENT)))

    @cached_property
    def products(self) -> Estimate:
        """Products of gradient and values, with their error, doubled (B, Hq, Sq, K)."""
        grad, value = self.upstream.grad_output, self.value.swapaxes(-1, -2)
        products = grad @ value
        error = summation_error(products, weighed_norm(grad, value), value.shape[-2], self.precision)
        stored = self.at_scores.rounds_between_phases * self.at_scores.stored
        return Estimate(products, INNER * (error + stored * np.abs(products)))

    @cached_property
    def delta(self) -> Estimate:
        """Means of the products in each row (B, Hq, Sq, 1), with all that they may be off by but the last rounding."""
        found = DeltaError(self)
        return Estimate(found.mean, np.where(self.live.any(axis=-1, keepdims=True), found.error, 0.0))

    @cached_property
    def distances(self) -> NDArray[Any]:
        """How far each product lies above what is subtracted in its row (B, Hq, Sq, K); 0 for excluded keys."""
        return np.where(self.live, self.products.value - self.delta.value + self.upstream.grad_logsumexp, 0.0)

    @cached_property
    def flushed(self) -> NDArray[Any]:
        """How many of the smallest numbers each gradient of a score may lose: its own, and its factors' part of it."""
        return np.where(self.live, 1 + np.abs(self.distances) + _STEPS_OF_A_DISTANCE * self.weights, 0.0)

    @cached_property
    def slopes(self) -> Estimate:
        """Slopes of the cap, and how far they may be off; 1 without one."""
        if not self.softcap:
            return Estimate(np.ones(1), np.zeros(1))
        scores, precision = self.forward.scaled, self.at_scores
        tangent = np.tanh(scores.value / self.softcap)
        slope = 1 / np.cosh(np.minimum(np.abs(scores.value) / self.softcap, _FLATTEST)) ** 2
        # Where the error reaches across the bend, the steepest slope within it counts.
        nearest = np.maximum(np.abs(scores.value) - scores.error, 0.0) / self.softcap
        steepest = 1 / np.cosh(np.minimum(nearest, _FLATTEST)) ** 2
        of_tangent = steepest * scores.error / self.softcap + _ROUNDINGS_OF_TANH * precision.stored * np.abs(tangent)
        farthest = np.minimum(np.abs(tangent) + of_tangent, 1.0)
        rounded = precision.stored * (tangent**2 + slope)
        return Estimate(slope, INNER * (2 * farthest * np.minimum(of_tangent, 1.0) + rounded))

    @cached_property
    def logit_gradient_terms(self) -> Terms:
        """Gradients of the logits as terms of a sum over queries."""
        return self._terms(Estimate(np.ones(1), np.zeros(1)))

    @cached_property
    def score_gradient_terms(self) -> Terms:
        """Gradients of the scores as terms of a sum over queries."""
        return self._terms(self.slopes)

    @cached_property
    def score_gradient_terms_over_keys(self) -> Terms:
        """Gradients of the scores as terms of a sum over keys, without what all terms of a row are off by alike."""
        own, _, products = self.score_gradient_terms.carried
        return self.score_gradient_terms._replace(carried=(own, products), of_delta=None, of_output=None)

    def _terms(self, slopes: Estimate) -> Terms:
        weights, precision = self.weights, self.at_scores
        gradients = weights * self.distances * slopes.value
        sign = np.where(gradients < 0, -1.0, 1.0)
        with_delta = weights * slopes.value * self.delta.error
        # The error of a gradient is rounded like the gradient.
        rounding = INDEPENDENT_CELLS * rounding_to_the_dtype(precision)
        own = sign * (self.relative * np.abs(gradients) + (self.relative + rounding) * with_delta)
        own = own + weights * self.distances * slopes.error
        scaled = self.moved * (slopes.value + slopes.error)
        subtracted = np.abs(self.delta.value - self.upstream.grad_logsumexp)
        once = np.abs(self.products.value) + np.abs(self.delta.value)
        stored = precision.stored * (subtracted + np.abs(self.distances))
        products = scaled * (self.products.error + INNER * (precision.accumulator * once + stored))
        carried = (
            Carried(own, weights),
            Carried(self.error_of_rows * gradients, weights),
            Carried(np.where(self.products.value < 0, -products, products), self.products.value),
        )
        delta = np.where(self.live, self.delta.value, 0.0)
        of_delta = Carried(np.where(delta < 0, -1.0, 1.0) * scaled * self.delta.error, delta)
        # Where queries have the same output, it is off alike, whatever their gradients are.
        output = self.forward.output
        by_feature = np.moveaxis(self.upstream.grad_output * output.error, -1, -4)[..., None]
        marks = np.where(self.live, np.linalg.norm(output.value, axis=-1, keepdims=True), 0.0)
        return Terms(gradients, carried, self.flushed, of_delta, Carried(weights * slopes.value * by_feature, marks))


@dataclass(frozen=True)
class DeltaError:
    """Mean of the products of gradient and values in each row, and its error.

    It is summed over the keys, each product with its weight, or over the features of gradient and output. The output is
    rounded to the dtype of the run where it is given, and where a forward pass stored it.
    """

    scores: ScoreGradients

    @cached_property
    def mean(self) -> NDArray[Any]:
        """The means (B, Hq, Sq, 1)."""
        return np.sum(self.scores.weights * self.scores.products.value, axis=-1, keepdims=True)

    @cached_property
    def error(self) -> NDArray[Any]:
        """Their errors, all but the last rounding to the dtype of the results."""
        rounding = rounding_to_the_dtype(self._at_rows)
        own = (self.scores.error_of_rows + rounding + self._stored_loss) * np.abs(self.mean)
        summed = INNER * np.maximum(self._error_over_keys, self._error_over_features)
        stored = np.maximum(self._error_of_stored_products, self._error_of_stored_output)
        return self._carried_error + summed + stored + own + self._at_rows.smallest * self._flushed

    @property
    def _at_rows(self) -> Precision:
        return self.scores.precision.at_rank(4)

    @property
    def _stored_loss(self) -> Any:
        """Loss of a step that is stored between phases; 0 where it is not."""
        return self._at_rows.rounds_between_phases * self._at_rows.stored

    @cached_property
    def _carried_error(self) -> NDArray[Any]:
        """Errors of weights and products; the error that all weights of a row share acts through the mean alone."""
        precision, weights, products = self.scores.precision, self.scores.weights, self.scores.products
        distances = weights * (products.value - self.mean)
        of_weights = row_norm(Carried(distances * self.scores.relative, weights), precision.stored)
        signed = np.where(products.value < 0, -weights, weights) * products.error
        of_products = row_norm(Carried(signed, products.value), precision.stored)
        rounded = rounding_to_the_dtype(self._at_rows) * row_norm(Carried(distances, weights), precision.output)
        return of_weights + of_products + INDEPENDENT_CELLS * rounded

    @property
    def _error_over_keys(self) -> NDArray[Any]:
        weighed = self.scores.weights * self.scores.products.value
        spread = row_norm(Carried(weighed, self.scores.weights), self.scores.precision.accumulator)
        return summation_error(
            self.mean,
            spread,
            self.scores.forward.softmax.terms,
            self.scores.precision,
            self.scores.forward.softmax.drift,
        )

    @property
    def _error_over_features(self) -> NDArray[Any]:
        spread = weighed_norm(self.scores.weights, self.scores.value)
        of_output = summation_error(
            self._output,
            spread,
            self.scores.forward.softmax.terms,
            self.scores.precision,
            self.scores.forward.softmax.drift,
        )
        features = self._by_feature.shape[-1]
        own = summation_error(self.mean, norm(self._by_feature, axis=-1)[..., None], features, self.scores.precision)
        return own + np.sum(np.abs(self.scores.upstream.grad_output) * of_output, axis=-1, keepdims=True)

    @property
    def _error_of_stored_products(self) -> NDArray[Any]:
        weighed = self.scores.weights * self.scores.products.value
        return INDEPENDENT_CELLS * self._stored_loss * row_norm(Carried(weighed, weighed), self.scores.precision.stored)

    @property
    def _error_of_stored_output(self) -> NDArray[Any]:
        norms = INDEPENDENT_CELLS * row_norm(Carried(self._by_feature, self._output), self.scores.precision.output)
        largest = np.sum(np.abs(self._by_feature), axis=-1, keepdims=True)
        return (self._at_rows.output + self._stored_loss) * np.minimum(norms, largest)

    @cached_property
    def _output(self) -> NDArray[Any]:
        return self.scores.weights @ self.scores.value

    @cached_property
    def _by_feature(self) -> NDArray[Any]:
        return self.scores.upstream.grad_output * self._output

    @property
    def _flushed(self) -> NDArray[Any]:
        """How many of the smallest numbers may be lost: in weights, in outputs, and where each step is stored."""
        live = self.scores.weights > 0
        steps = self._at_rows.rounds_between_phases * (
            np.sum(live, axis=-1, keepdims=True) + self.scores.value.shape[-1]
        )
        of_weights = np.sum(np.where(live, np.abs(self.scores.products.value), 0.0), axis=-1, keepdims=True)
        return 1 + steps + of_weights + np.sum(np.abs(self.scores.upstream.grad_output), axis=-1, keepdims=True)
