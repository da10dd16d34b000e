"""Error of `delta`: the mean, in each row, of the products of gradient and values.

It is summed over the keys, each product with its weight, or over the features of gradient and output. The output is
rounded to the dtype of the run where it is given, and where a forward pass stored it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.estimates import INNER, norm, summation_error
from attnspec.families.attention.steps.rounding_cells import weighed_norm
from attnspec.families.attention.tolerance.weighed_sums import (
    INDEPENDENT_CELLS,
    Carried,
    rounding_to_the_dtype,
    row_norm,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Estimate, Precision


@dataclass(frozen=True)
class DeltaError:
    """The mean of each row and its error: `weights`, their own `relative` error, and `products` (B, Hq, Sq, K).

    `of_rows` (..., B, Hq, Sq, 1) is the relative error that a row's weights share; `terms` counts its keys, and `drift`
    is how far a sum over them may drift, relative to it. `grad_output` (B, Hq, Sq, Ev) and `value` (B, Hq, K, Ev).
    """

    precision: Precision
    weights: NDArray[Any]
    relative: NDArray[Any]
    of_rows: NDArray[Any]
    products: Estimate
    grad_output: NDArray[Any]
    value: NDArray[Any]
    terms: NDArray[Any] | int
    drift: NDArray[Any]

    @cached_property
    def mean(self) -> NDArray[Any]:
        """The means (B, Hq, Sq, 1)."""
        return np.sum(self.weights * self.products.value, axis=-1, keepdims=True)

    @cached_property
    def error(self) -> NDArray[Any]:
        """Their errors, all but the last rounding to the dtype of the results."""
        rounding = rounding_to_the_dtype(self._at_rows)
        own = (self.of_rows + rounding + self._stored) * np.abs(self.mean)
        summed = INNER * np.maximum(self._over_keys, self._over_features)
        stored = np.maximum(self._of_stored_products, self._of_stored_output)
        return self._carried + summed + stored + own + self._at_rows.smallest * self._flushed

    @property
    def _at_rows(self) -> Precision:
        return self.precision.at_rank(4)

    @property
    def _stored(self) -> Any:
        """Loss of a step that is stored between phases; 0 where it is not."""
        return self._at_rows.rounds_between_phases * self._at_rows.stored

    @cached_property
    def _carried(self) -> NDArray[Any]:
        """Errors of weights and products; the error that all weights of a row share acts through the mean alone."""
        precision, weights, products = self.precision, self.weights, self.products
        distances = weights * (products.value - self.mean)
        of_weights = row_norm(Carried(distances * self.relative, weights), precision.stored)
        signed = np.where(products.value < 0, -weights, weights) * products.error
        of_products = row_norm(Carried(signed, products.value), precision.stored)
        rounded = rounding_to_the_dtype(self._at_rows) * row_norm(Carried(distances, weights), precision.output)
        return of_weights + of_products + INDEPENDENT_CELLS * rounded

    @property
    def _over_keys(self) -> NDArray[Any]:
        weighed = self.weights * self.products.value
        spread = row_norm(Carried(weighed, self.weights), self.precision.accumulator)
        return summation_error(self.mean, spread, self.terms, self.precision, self.drift)

    @property
    def _over_features(self) -> NDArray[Any]:
        spread = weighed_norm(self.weights, self.value)
        of_output = summation_error(self._output, spread, self.terms, self.precision, self.drift)
        features = self._by_feature.shape[-1]
        own = summation_error(self.mean, norm(self._by_feature, axis=-1)[..., None], features, self.precision)
        return own + np.sum(np.abs(self.grad_output) * of_output, axis=-1, keepdims=True)

    @property
    def _of_stored_products(self) -> NDArray[Any]:
        weighed = self.weights * self.products.value
        return INDEPENDENT_CELLS * self._stored * row_norm(Carried(weighed, weighed), self.precision.stored)

    @property
    def _of_stored_output(self) -> NDArray[Any]:
        norms = INDEPENDENT_CELLS * row_norm(Carried(self._by_feature, self._output), self.precision.output)
        largest = np.sum(np.abs(self._by_feature), axis=-1, keepdims=True)
        return (self._at_rows.output + self._stored) * np.minimum(norms, largest)

    @cached_property
    def _output(self) -> NDArray[Any]:
        return self.weights @ self.value

    @cached_property
    def _by_feature(self) -> NDArray[Any]:
        return self.grad_output * self._output

    @property
    def _flushed(self) -> NDArray[Any]:
        """How many of the smallest numbers may be lost: in weights, in outputs, and where each step is stored."""
        live = self.weights > 0
        steps = self._at_rows.rounds_between_phases * (np.sum(live, axis=-1, keepdims=True) + self.value.shape[-1])
        of_weights = np.sum(np.where(live, np.abs(self.products.value), 0.0), axis=-1, keepdims=True)
        return 1 + steps + of_weights + np.sum(np.abs(self.grad_output), axis=-1, keepdims=True)
