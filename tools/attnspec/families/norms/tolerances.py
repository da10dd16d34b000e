"""The tolerance of RMS norm and of QK-norm: a mean of squares, its root, a weight, and perhaps a rotation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.estimates import INNER, exactly, norm, summation_error
from attnspec.bounds.tolerance import Estimate, Precision, Tolerance, deferred
from attnspec.families.rotary.tolerances import paired_features, sum_of_products

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.families.record import Arrays

_ROOT_AND_PRODUCT = 3
"""Units of the root, of its reciprocal, which is seldom rounded rightly, and of the feature times that."""


def tolerance(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, conventions: Mapping[str, str]
) -> Tolerance:
    """Return values and tolerances of the outputs of a case, as `ToleranceModel` has it."""
    del conventions
    with np.errstate(all="ignore"):
        if operation == "rms_norm":
            x, weight = (exactly(inputs[name]).value for name in ("x", "weight"))
            return Tolerance(deferred(output=_rounded(_normalized(x, weight, attributes, precision), precision)))
        return Tolerance(
            {f"{name}_output": partial(_of_heads, name, inputs, attributes, precision) for name in ("query", "key")}
        )


def _of_heads(name: str, inputs: Arrays, attributes: Mapping[str, Any], precision: Precision) -> Estimate:
    """Return value and tolerance of normalized queries or keys, rotated where tables are given."""
    x, weight = (exactly(inputs[each]).value for each in (name, f"{name}_weight"))
    if attributes.get("normalized_over", "head") == "head":
        normalized = _normalized(x, weight, attributes, precision)
    else:
        batch, heads, tokens, features = x.shape
        together = np.moveaxis(x, 1, 2).reshape(batch, tokens, heads * features)
        rows = _normalized(together, weight, attributes, precision)
        normalized = Estimate(_heads_apart(rows.value, heads), _heads_apart(rows.error, heads))
    if "cos" not in inputs:
        return _rounded(normalized, precision)
    cos, sin = (exactly(inputs[each]).value[:, np.newaxis] for each in ("cos", "sin"))
    return _rotated(normalized, cos, sin, attributes.get("pairing", "half"), precision)


def _heads_apart(array: NDArray[Any], heads: int) -> NDArray[Any]:
    """Turn (..., S, H·E) into (..., H, S, E); the runs stand in front."""
    return np.moveaxis(array.reshape(*array.shape[:-1], heads, -1), -2, -3)


def _normalized(x: NDArray[Any], weight: NDArray[Any], attributes: Mapping[str, Any], precision: Precision) -> Estimate:
    """Return normalized rows (..., D), multiplied by their weights and not rounded yet, and their errors.

    The mean of the squares is carried in the accumulator whatever the dtype. The features may be rounded as they are
    stored before they meet the weight, and so may 1 + weight.
    """
    precision = precision.at_rank(x.ndim)
    unit: Any = precision.accumulator
    # Numbers that do not come in the accumulator are rounded before.
    narrowed = unit * (precision.accumulator > precision.output)
    epsilon, terms = attributes["epsilon"], x.shape[-1]
    squares = x * x
    mean_square = squares.mean(axis=-1, keepdims=True) + epsilon
    spread = norm(squares, -1)
    of_mean = summation_error(squares.sum(axis=-1), spread, terms, precision)[..., np.newaxis] / terms
    of_squares = unit * spread[..., np.newaxis] / terms + precision.smallest
    of_mean_square = of_mean + of_squares + 2 * unit * mean_square + 2 * narrowed * mean_square
    relative = INNER * (of_mean_square / mean_square / 2 + _ROOT_AND_PRODUCT * unit) + narrowed + precision.stored
    normalized = x / np.sqrt(mean_square)
    factor, of_factor = weight, narrowed * np.abs(weight)
    if attributes.get("weight_offset") == "one":
        factor, of_factor = 1 + weight, of_factor + precision.stored * np.abs(1 + weight)
    size = np.abs(normalized)
    error = size * (relative * np.abs(factor) + (1 + relative) * of_factor + unit * np.abs(factor))
    return Estimate(normalized * factor, error + precision.smallest * (1 + np.abs(factor)))


def _rounded(estimate: Estimate, precision: Precision) -> Estimate:
    """Return a result as it is rounded to the dtype of the run, once and no more."""
    precision = precision.at_rank(estimate.value.ndim)
    error = estimate.error + precision.output * (np.abs(estimate.value) + estimate.error)
    return Estimate(estimate.value, error + precision.smallest)


def _rotated(
    normalized: Estimate, cos: NDArray[Any], sin: NDArray[Any], pairing: str, precision: Precision
) -> Estimate:
    """Return rotated features (B, H, S, E), of which the normalized ones are rounded as they are stored.

    The features of a token share the error of their root: it goes through the rotation as it is.
    """
    at_rank = precision.at_rank(normalized.value.ndim)
    stored = normalized.error + at_rank.stored * (np.abs(normalized.value) + normalized.error)
    rounded = _rounded(normalized, precision)
    value, error = rounded.value.copy(), np.array(np.broadcast_to(rounded.error, np.shape(stored)))
    pairs = paired_features(cos.shape[-1], pairing)
    first, second = (normalized.value[..., features] for features in pairs)
    of_first, of_second = (stored[..., features] for features in pairs)
    for features, (left, right) in zip(pairs, ((cos, -sin), (sin, cos)), strict=True):
        turned = sum_of_products(left * first, right * second, precision)
        carried = np.abs(left) * of_first + np.abs(right) * of_second
        value[..., features] = turned.value
        error[..., features] = turned.error + carried * (1 + 2 * at_rank.stored)
    return Estimate(value, error)
