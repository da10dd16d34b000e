"""Values that carry their error: the running error bound, phase by phase.

An :class:`.tolerance.Estimate` holds a tensor in float64 and, element by element, how far a correct implementation may
stray from the exact result at this point. The bounds are statistical rather than worst-case: roundings are taken as
independent, and constants leave about five standard deviations for a strictly sequential sum.
See ``spec/decisions/0006-tolerance.md``.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.tolerance import Estimate, Interval, Precision

INNER = 2
"""How often the errors of inner phases count.

They are estimates, of roundings that are taken as independent and seldom quite are; doubled, they leave room for that.
The last rounding counts once: it is never more than one unit.
"""

DRIFT = 0.4
"""Units in the total that each term adds to a sum whose roundings all go one way.

A rounding loses at most one unit of the partial sum: n units where the sum is there from the first term on, n/2 where
it grows evenly. Doubled, 0.4 n is near that worst case, because it does occur: sequential sums of equal terms, or with
one large one, come to about half of it (`spec/studies/by-hand.md`, constants 2 and 3).
"""

FEW_TERMS = 8
"""Up to so many terms, all roundings that go one way come to little more than what independent ones may come to.

The sum of n equal terms is half the root of n times twice their norm: 1.4 times for 8. Sums of so few terms are not
looked at any closer, which would take more time than all the rest of a short row.
"""

_LARGER_VALUES = 4
"""How much larger than the average a value may be whose weight lies below the last digit of the sum.

In the denominator such a term is lost as it is; in the numerator it may round up, the more often the larger its value.
With values up to 8 times the average, sequential sums came to 1.16 where this was 1
(`spec/studies/tolerance-ties.md`).
"""

_WALK = 0.8
"""Units in the norm of the terms, times the root of their number, for roundings that go either way at random.

A sequential sum of Gaussian products strays by 0.3 of them (standard deviation, 16 to 256 terms). Doubled, 0.8 leaves
five deviations. 0.6 left four, and two of six million sums of 64 products came out above 1
(`spec/studies/by-hand.md`, constant 1).
"""

_EXPONENTIAL = 2
"""Units that an exponential may be off by itself, and by each 1 that its argument lies below the maximum.

Good libraries stay within one ulp, which is up to two unit roundoffs. The argument is rounded where
the maximum is subtracted, and again where it is multiplied by log2(e) for a power of two.
"""

_SUM_AND_DIVISION = 2
"""Units of a denominator beside the drift of its sum: the last rounding of the sum, and the division by it."""

ROUNDED_TWICE = 0.5
"""Added share of a second rounding to the same dtype: two independent ones come to the root of 2, below 1.5."""

_LARGEST_EXPONENT = 50.0
"""An exponent that is off by so much leaves no digit. It is cut here, where squares of its exponential are finite."""


def exactly(array: NDArray[Any]) -> Estimate:
    """Return an input tensor as an estimate without error; NaN and infinities count as 0.

    Elements that a non-finite number touches are graded by kind, and must not spoil the bounds of their neighbours.
    """
    value = array.astype(np.float64, copy=False)
    is_whole = True
    # A finite sum has finite terms.
    if not math.isfinite(value.sum()):
        finite = np.isfinite(value)
        is_whole = bool(finite.all())
        value = np.where(finite, value, 0.0)
    return Estimate(value, np.zeros(value.shape), is_exact=True, is_whole=is_whole)


def norm(terms: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return the Euclidean norm along an axis, safe where squares would underflow."""
    largest = np.max(np.abs(terms), axis=axis, keepdims=True, initial=0.0)
    scaled = terms / np.where(largest > 0, largest, 1.0)
    return np.squeeze(largest, axis) * np.sqrt(np.sum(scaled * scaled, axis=axis))


def summation_error(
    total: NDArray[Any],
    spread: NDArray[Any],
    terms: int | NDArray[Any],
    precision: Precision,
    drift: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the error of summing terms with the norm `spread` to `total` in the accumulator, in any order.

    Roundings walk at random: hence the root of the number of terms. Equal terms round to one side, and small ones are
    lost one by one: both drift one way, by `drift` relative to the total, or by the number of terms if it is None.
    """
    precision = precision.at_rank(total.ndim)
    root = math.sqrt(terms) if isinstance(terms, int) else np.sqrt(terms)
    drifts: Any = precision.accumulator * DRIFT * terms if drift is None else drift
    of_total, of_spread = drifts + precision.accumulator, precision.accumulator * (_WALK * root + 1)
    return of_total * np.abs(total) + of_spread * spread


def linear(x: Estimate, weight: Estimate, bias: Estimate | None, precision: Precision) -> Estimate:
    """Return ``x @ weight + bias`` of inputs, as it is stored between phases.

    The bias may be added to the product, or be what the sum begins with: then every partial sum is about as large.
    """
    product, terms = x.value @ weight.value, x.value.shape[-1]
    spread = np.sqrt(x.value**2 @ weight.value**2)
    error, kinds = summation_error(product, spread, terms, precision), alike_columns(weight.value)
    stored = precision.at_rank(product.ndim).stored
    if bias is None:
        return Estimate(product, error + stored * np.abs(product), kinds=kinds)
    value, size = product + bias.value, np.abs(bias.value)
    begun = summation_error(np.maximum(size, np.abs(value)), np.hypot(spread, size), terms + 1, precision)
    error = np.maximum(error + stored * (np.abs(product) + size), begun)
    return Estimate(value, error + stored * np.abs(value), kinds=kinds)


def as_output(estimate: Estimate, precision: Precision) -> Estimate:
    """Return an intermediate value as an output: its error doubled, and rounded to the dtype of the results."""
    precision = precision.at_rank(estimate.value.ndim)
    error = INNER * estimate.error + precision.output * np.abs(estimate.value) + precision.smallest
    return Estimate(estimate.value, error)


def exponent_error(distance: NDArray[Any], logit_error: NDArray[Any], precision: Precision) -> NDArray[Any]:
    """Return the relative error of ``exp(logit - maximum)`` for logits that lie `distance` below the maximum."""
    precision = precision.at_rank(distance.ndim)
    own = _EXPONENTIAL * precision.accumulator + precision.rounds_between_phases * precision.stored
    return np.expm1(np.minimum(logit_error + own * (1 + distance), _LARGEST_EXPONENT))


def drift_of_shares(shares: NDArray[Any], terms: NDArray[Any] | int, precision: Precision) -> NDArray[Any]:
    """Return how far a sum of shares may drift, relative to it: (..., 1), the runs in front where there are several.

    A rounding loses at most a unit of the partial sum, largest where large terms come first, and at most the term: many
    small ones may be lost from the denominator and rounded up in the numerator. `terms` is one number or (..., 1).
    """
    even = precision.at_rank(shares.ndim).accumulator * DRIFT * terms
    if shares.shape[-1] <= FEW_TERMS:
        return np.broadcast_to(even, (*np.shape(even)[: -shares.ndim], *shares.shape[:-1], 1))
    in_order = -np.sort(-shares, axis=-1)
    partial = np.cumsum(in_order, axis=-1)
    units = np.ravel(precision.accumulator)
    by_unit = {
        unit: np.minimum(unit * partial, _LARGER_VALUES * in_order).sum(axis=-1, keepdims=True) for unit in set(units)
    }
    lost = by_unit[units[0]] if isinstance(precision.output, float) else np.stack([by_unit[unit] for unit in units])
    return np.maximum(even, lost)


def denominator_error(drift: NDArray[Any], precision: Precision) -> Any:
    """Return the relative error of summing a row of exponentials, which may drift, and of dividing by the sum."""
    return drift + precision.accumulator * _SUM_AND_DIVISION


def logarithm_error(logarithm: NDArray[Any], precision: Precision) -> Any:
    """Return the relative error of shares with a logarithm as denominator: in ``exp(logit - logsumexp)`` and merges.

    A rounded logarithm far from 0 makes a whole row wrong by one factor; beyond half of the digits that is not right
    any more. `logarithm` is its absolute value, the maximum added back; 0 for an empty denominator.
    """
    return np.minimum(precision.accumulator * logarithm, np.sqrt(precision.accumulator))


def roundings_of_merges(terms: NDArray[Any] | int) -> NDArray[Any]:
    """Return the factor by which the independent roundings of the logarithms in a tree of merges exceed one rounding.

    Halving the keys and merging by logsumexps rounds a logarithm at each level. `terms` are the keys that a query may
    attend: one number, or (B, H, Sq, 1).
    """
    return np.sqrt(np.maximum(np.ceil(np.log2(np.maximum(terms, 1))), 1.0))


def share_error(
    shares: NDArray[Any],
    relative: NDArray[Any],
    drift: NDArray[Any],
    logarithm: NDArray[Any],
    precision: Precision,
    moved_at_once: NDArray[Any] | float = 0.0,
) -> NDArray[Any]:
    """Return the error of softmax shares along the last axis, for exponentials that are off by `relative`.

    A share p_j moves by p_j (e_j - sum_k p_k e_k): to first order a common error cancels, and `moved_at_once` is its
    move of each share. `drift` (..., 1) is relative to the denominator, `logarithm` (..., 1) as in
    :func:`logarithm_error`.
    """
    precision = precision.at_rank(shares.ndim)
    moved = shares * relative
    squares = moved * moved
    others = np.maximum(squares.sum(axis=-1, keepdims=True) - squares, 0.0)
    own = relative - moved
    normalised = np.hypot(shares * np.sqrt(own * own + others), moved_at_once)
    # Beside the division, the share itself is rounded once, and once more where it is stored between phases.
    rounding = precision.output * (1 + ROUNDED_TWICE * precision.rounds_between_phases)
    denominator = denominator_error(drift, precision) + logarithm_error(logarithm, precision)
    in_common = INNER * denominator + rounding
    return INNER * normalised + in_common * shares + precision.smallest * (shares > 0)


def share_interval(shares: Estimate, drift: NDArray[Any], logarithm: NDArray[Any], precision: Precision) -> Interval:
    """Return the interval of softmax shares: 0 to 1, but for the error that all shares of a row have in common."""
    whole = np.ones_like(logarithm)
    beyond = share_error(whole, np.zeros_like(whole), drift, logarithm, precision)
    return Interval(
        np.maximum(shares.value - shares.error, 0.0), np.minimum(shares.value + shares.error, whole + beyond)
    )


def vacuous_shares(shares: Estimate) -> NDArray[np.bool_]:
    """Return the shares whose tolerance says nothing: it exceeds half of the range from 0 to 1."""
    return 2 * shares.error > 1


def alike_columns(weight: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return for each column of a weight (D, E) the number of its kind; None where no two are the same.

    The errors of features are taken as independent. Equal columns meet the same token and are summed in the same order:
    the features agree to the last bit, and so do their errors. Summed again, as in a score or in a projection of the
    output, they come to the sum of the factors that they meet, and not to the norm of these.
    """
    columns = weight.shape[1]
    # Mostly a single row sets all columns apart.
    if weight.size and np.unique(weight[0]).size == columns:
        return None
    kinds = np.unique(weight, axis=1, return_inverse=True)[1].reshape(-1)
    return None if np.unique(kinds).size == columns else kinds


def carried_error(error: NDArray[Any], factors: NDArray[Any], kinds: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the error (..., K) of ``x @ factors`` from absolute errors of x (..., E) and factors (..., E, K).

    Features of equal `kinds` (..., E) carry the same error; None where all are independent.
    """
    independent = np.sqrt(error**2 @ factors**2)
    if kinds is None:
        return independent
    # Sums in another order are independent after all: the error is no more than one of both.
    return np.maximum(independent, np.sqrt(error**2 @ summed_by_kind(factors, kinds) ** 2))


def summed_by_kind(factors: NDArray[Any], kinds: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return factors (..., E, K) with those of one kind summed at the index of the first, and 0 at the others."""
    if kinds is None:
        return factors
    same = kinds[..., :, np.newaxis] == kinds[..., np.newaxis, :]
    is_first = ~np.tril(same, -1).any(axis=-1)
    return (same & is_first[..., np.newaxis]) @ factors
