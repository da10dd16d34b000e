"""Quantized queries, keys and values: their numbers times scales, and the errors of these products.

A number times its scale is exact in float64. An implementation rounds the product once, to the accumulator or to the
dtype in which it stores it. Where one scale stands for a head, a rounding depends on the significand of the number
alone. There are 8 in float8_e4m3fn, 4 in float8_e5m2 and 64 in int8, so that many products of a sum are rounded alike,
and their errors add up with the factors that they meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import LARGEST, QUANTIZED_DTYPES
from attnspec.families.attention.steps.rounding_cells import norm_of_cells

if TYPE_CHECKING:
    from attnspec.bounds.tolerance import Precision
    from attnspec.families.record import Arrays


class _Format(NamedTuple):
    """Errors of rounding to a dtype: relative to normal numbers, and in absolute terms below the least of them."""

    unit: float
    least_normal: float
    below: float


_FORMATS = {
    "bfloat16": _Format(2.0**-8, 2.0**-126, 2.0**-134),
    "float16": _Format(2.0**-11, 2.0**-14, 2.0**-25),
    "float8_e4m3fn": _Format(2.0**-4, 2.0**-6, 2.0**-10),
    "float8_e5m2": _Format(2.0**-3, 2.0**-14, 2.0**-17),
}

_INDEPENDENT_CELLS = 2
"""Deviations of a sum of weights that are rounded to float8, each cell by itself, before they meet the values."""


def product_with_scale(numbers: NDArray[Any], scale: NDArray[Any] | None, shared: int) -> NDArray[Any]:
    """Return numbers (B, H, S, E) times the scales of their key heads, exact in float64; `shared` is Hkv.

    `scale` is (), (Hkv,) or (B, Hkv); None for numbers that count as they are.
    """
    if scale is None:
        return numbers
    factors = scale.astype(np.float64)
    if factors.ndim and factors.shape[-1] != 1:
        factors = np.repeat(factors, numbers.shape[1] // max(shared, 1), axis=-1)
    return numbers.astype(np.float64) * (factors[..., None, None] if factors.ndim else factors)


def is_quantized(inputs: Arrays) -> bool:
    """Return whether a tensor is quantized: it then has a scale, which is quicker to look for than a dtype."""
    return "key_scale" in inputs or "value_scale" in inputs or "query_scale" in inputs


class Products(NamedTuple):
    """Products of numbers and scales that may be rounded; `significands` (B, H, S, E) decide how.

    `unit` (roundoff) and `below` (the absolute loss under the least normal number) are numbers, or broadcast one a run
    against scores.
    """

    significands: NDArray[np.float64]
    unit: Any
    below: Any

    def repeated(self, times: int) -> Products:
        """Return the products of each head as often as query heads share it."""
        return self if times == 1 else self._replace(significands=np.repeat(self.significands, times, axis=-3))

    def norm(self, left: NDArray[Any], right: NDArray[Any], spread: NDArray[Any], *, of_left: bool) -> NDArray[Any]:
        """Return the norm of the terms of ``left @ right``, those added first that are rounded alike.

        These products are `left` if `of_left`, else `right`; `spread` is the norm were all roundings independent.
        """
        squares = np.zeros(spread.shape)
        for significand in np.unique(self.significands):
            cell = self.significands == significand
            if not of_left and right.shape != cell.shape:
                cell = cell.swapaxes(-1, -2)
            part = np.where(cell, left, 0.0) @ right if of_left else left @ np.where(cell, right, 0.0)
            squares += part * part
        return np.maximum(spread, np.sqrt(squares))


@dataclass(frozen=True)
class Quantization:
    """Quantized tensors of a call: products of query, key and value, None for those that are not quantized.

    `weights` is the format that weights are declared to be rounded to; `largest` that of the dtype in which products
    are declared to be stored, infinite where none is.
    """

    query: Products | None = None
    key: Products | None = None
    value: Products | None = None
    weights: _Format | None = None
    largest: float = np.inf

    def repeated(self, times: int) -> Quantization:
        """Return the same with each key head as often as query heads share it."""
        if times == 1:
            return self
        key, value = (None if each is None else each.repeated(times) for each in (self.key, self.value))
        return Quantization(self.query, key, value, self.weights, self.largest)

    def error_of_scores(
        self, query: NDArray[Any], key: NDArray[Any], scores: NDArray[Any], factor: float
    ) -> NDArray[Any] | float:
        """Return the error that roundings of products carry into scaled scores.

        The scale itself may be rounded, which all terms share; so is the product with it, where a kernel multiplies
        scores by the scales instead of queries and keys.
        """
        error: NDArray[Any] | float = 0.0
        keys = key.swapaxes(-1, -2)
        spread = np.sqrt(query**2 @ keys**2)
        if self.query is not None:
            norm = abs(factor) * self.query.norm(query, keys, spread, of_left=True)
            lost = abs(factor) * self.query.below * np.abs(keys).sum(axis=-2, keepdims=True)
            error = error + self.query.unit * (np.abs(scores) + norm) + lost
        if self.key is not None:
            norm = abs(factor) * self.key.norm(query, keys, spread, of_left=False)
            lost = abs(factor) * self.key.below * np.abs(query).sum(axis=-1, keepdims=True)
            error = error + self.key.unit * (np.abs(scores) + norm) + lost
        return error

    def error_of_values(
        self, shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any], spread: NDArray[Any]
    ) -> NDArray[Any] | float:
        """Return what the roundings of values carry into their weighted sums."""
        if self.value is None:
            return 0.0
        # A sink is one more key, with a value of 0.
        keys = self.value.significands.shape[-2]
        norm = self.value.norm(shares[..., :keys], value[..., :keys, :], spread, of_left=False)
        return self.value.unit * (np.abs(output) + norm) + self.value.below

    def error_beyond_values(self, farthest: NDArray[Any]) -> NDArray[Any] | float:
        """Return how far a weighted sum may lie beyond the values, of which the largest is given."""
        return 0.0 if self.value is None else self.value.unit * 2 * farthest + self.value.below

    def error_of_weights(
        self, shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any], spread: NDArray[Any]
    ) -> NDArray[Any] | float:
        """Return what the roundings of weights to float8 carry into the weighted sums; those alike add up."""
        if self.weights is None:
            return 0.0
        norm = norm_of_cells(shares, value, output, spread, self.weights.unit)
        return self._rounded_weights(shares, value, np.abs(output), norm)

    def error_beyond_weights(
        self, shares: NDArray[Any], value: NDArray[Any], farthest: NDArray[Any]
    ) -> NDArray[Any] | float:
        """Return how far a weighted sum may lie beyond the values, because rounded weights do not sum to one."""
        return 0.0 if self.weights is None else self._rounded_weights(shares, value, farthest, farthest)

    def _rounded_weights(
        self, shares: NDArray[Any], value: NDArray[Any], size: NDArray[Any], norm: NDArray[Any]
    ) -> NDArray[Any]:
        assert self.weights is not None
        unit, least_normal, below = self.weights
        # Weights below half of the least number all become 0: nothing of that is left to chance.
        lost = np.where(shares < least_normal, np.minimum(shares, below), 0.0) @ np.abs(value)
        return unit * (size + _INDEPENDENT_CELLS * norm) + lost


def too_large(
    query: NDArray[Any], key: NDArray[Any], value: NDArray[Any], attendable: NDArray[np.bool_], largest: float
) -> NDArray[np.bool_]:
    """Return the queries (B, Hq, Sq) that meet a number beyond the largest: their own, or of a key that they attend."""
    keys: NDArray[np.bool_] = np.any(np.abs(key) > largest, axis=-1)
    values: NDArray[np.bool_] = np.any(np.abs(value) > largest, axis=-1)
    own: NDArray[np.bool_] = np.any(np.abs(query) > largest, axis=-1)
    met: NDArray[np.bool_] = np.any(attendable & (keys | values)[:, :, None, :], axis=-1)
    return own | met


def _significands(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the significand of each number, from 1/2 on and below 1; 0 for 0, and for what is not finite."""
    wide = numbers.astype(np.float64)
    return np.abs(np.frexp(np.where(np.isfinite(wide), wide, 0.0))[0])


def quantization(
    inputs: Arrays, numbers: Arrays, precision: Precision, dequantized: str | None, weights: str | None
) -> Quantization:
    """Return the quantized tensors of a call that has some, from `numbers`: query, key, value with past, before scales.

    `dequantized` and `weights` are the dtypes that products and weights are declared to be rounded to; None if kept.
    """
    declared = None if dequantized is None else _FORMATS[dequantized]
    stored = precision.at_rank(4).stored
    # Unfused, products are stored between phases. The loss of float16 below its normal numbers shows there, too.
    below: Any = np.where(np.equal(stored, _FORMATS["float16"].unit), _FORMATS["float16"].below, 0.0)
    unit = stored
    if declared is not None:
        unit, below = np.maximum(stored, declared.unit), np.maximum(below, declared.below)
    products = {
        name: Products(_significands(numbers[name]), unit, below)
        for name in ("query", "key", "value")
        if inputs[name].dtype.name in QUANTIZED_DTYPES
    }
    return Quantization(
        **products,
        weights=None if weights is None or "value" not in products else _FORMATS[weights],
        largest=np.inf if dequantized is None else LARGEST[dequantized],
    )
