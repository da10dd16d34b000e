"""The tolerance of attention, from query, key and value that may carry errors themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec.comparison.estimates import (
    Estimate,
    exponent_error,
    norm,
    settled,
    share_error,
    summation_error,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.comparison.precision import Precision


_SQUARE_UNDERFLOWS = 1e-140


@dataclass(frozen=True)
class AttentionTolerance:
    """Float64 values and final tolerances of every output of attention, each computed when it is asked for.

    Attributes
    ----------
    precision
        Unit roundoffs of the run.
    allowed
        Which key each query may attend (B, Hq, Sq, Sk).
    dead
        Queries (B, Hq, Sq) that may attend no key.
    scaled, masked
        Scores and logits with the errors that they carry into the softmax (B, Hq, Sq, Sk).
    value
        Values with the errors of the projections before them (B, Hq, Sk, Ev).
    """

    precision: Precision
    allowed: NDArray[np.bool_]
    dead: NDArray[np.bool_]
    scaled: Estimate
    masked: Estimate
    value: Estimate

    @cached_property
    def scores(self) -> Estimate:
        """Scores after the scale."""
        return settled(self.scaled, self.precision)

    @cached_property
    def logits(self) -> Estimate:
        """Logits after mask and exclusion."""
        finite = np.where(self.allowed, self.masked.value, 0.0)
        error = settled(Estimate(finite, self.masked.error), self.precision).error
        return Estimate(self.masked.value, np.where(self.allowed, error, 0.0))

    @cached_property
    def weights(self) -> Estimate:
        """Shares of the keys."""
        return Estimate(self._softmax.shares, share_error(self._softmax.shares, self._softmax.relative, self.precision))

    @cached_property
    def logsumexp(self) -> Estimate:
        """Logarithms of the denominators."""
        value = (self._softmax.largest + np.log(self._softmax.total))[..., 0]
        alive = np.isfinite(value)
        size = np.where(alive, np.abs(value), 0.0)
        terms = math.sqrt(self.allowed.shape[-1])
        from_logits = (self._softmax.shares * self._softmax.relative).sum(axis=-1)
        precision = self.precision.at_rank(value.ndim)
        from_sum = precision.accumulator * (0.5 * terms + 2 + size)
        error = 2 * (from_logits + from_sum) + precision.output * size + precision.smallest
        return Estimate(value, np.where(alive, error, 0.0))

    @cached_property
    def output(self) -> Estimate:
        """Weighted sums of the values.

        The output does not inherit the error of the weights element by element: what all weights of a row share
        cancels, so each key's error acts through the distance of its value from the output.
        """
        shares, value = self._softmax.shares, self.value
        output = shares @ value.value
        precision = self.precision.at_rank(output.ndim)
        keys = self.allowed.sum(axis=-1, keepdims=True)
        spread = np.sqrt((shares * shares) @ (value.value * value.value))
        from_sum = summation_error(output, spread, keys, precision)
        from_logits = _norm_of_moves(shares * self._softmax.relative, value.value, output)
        from_values = 0.0 if value.is_exact else np.sqrt((shares * shares) @ (value.error * value.error))
        # A kernel may round the weights to the dtype before it multiplies them with the values.
        rounded = 1 + 0.5 * precision.rounds_between_phases
        from_weights = rounded * precision.output * (np.abs(output) + 2 * spread)
        flushed = precision.smallest * ((keys > 0) + self.allowed @ np.abs(value.value))
        error = 2 * (from_logits + from_sum + from_values) + from_weights + precision.output * np.abs(output) + flushed
        return Estimate(output, error)

    @cached_property
    def ungraded(self) -> NDArray[np.bool_]:
        """Elements of the output whose tolerance says nothing: it exceeds half the range of the live values."""
        reach = _range_of_live_values(self.value.value, self.allowed)
        return (reach > 0) & (2 * self.output.error > reach)

    @cached_property
    def _softmax(self) -> _Softmax:
        allowed, logits = self.allowed, self.masked.value
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        alive = largest > -np.inf
        distance = np.where(allowed, np.where(alive, largest, 0.0) - logits, 0.0)
        exponentials = np.where(allowed, np.exp(-distance), 0.0)
        total = exponentials.sum(axis=-1, keepdims=True)
        shares = exponentials / np.where(alive, total, 1.0)
        relative = np.where(allowed, exponent_error(distance, self.masked.error, self.precision), 0.0)
        return _Softmax(largest, total, shares, relative)


@dataclass(frozen=True)
class _Softmax:
    """The softmax over keys: row maximum, denominator, shares, and the relative error of each exponential."""

    largest: NDArray[Any]
    total: NDArray[Any]
    shares: NDArray[Any]
    relative: NDArray[Any]


def attendable_keys(
    shape: tuple[int, ...], mask: NDArray[Any] | None, *, is_causal: bool, causal_alignment: str
) -> NDArray[np.bool_]:
    """Return which key each query may attend, in the shape (B, Hq, Sq, Sk)."""
    allowed = np.ones(shape, dtype=np.bool_)
    if mask is not None:
        allowed &= mask if mask.dtype == np.bool_ else mask != -np.inf
    if is_causal:
        offset = shape[-1] - shape[-2] if causal_alignment == "bottom_right" else 0
        allowed &= np.arange(shape[-1]) <= np.arange(shape[-2])[:, None] + offset
    return allowed


def attention_tolerance(
    query: Estimate,
    key: Estimate,
    value: Estimate,
    precision: Precision,
    *,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    uniform_dead_rows: bool = False,
) -> AttentionTolerance:
    """Return values and tolerances of every output.

    Parameters
    ----------
    query, key, value
        (B, Hq, Sq, E), (B, Hkv, Sk, E) and (B, Hkv, Sk, Ev), with the errors of the projections before them.
    precision
        Unit roundoffs of the run.
    mask, is_causal, causal_alignment, scale
        As the operation takes them.
    uniform_dead_rows
        Whether a query without any key takes the mean of all values instead of 0.
    """
    shared = query.value.shape[1] // max(key.value.shape[1], 1)
    key, value = _repeated(key, shared), _repeated(value, shared)
    scores = _scores(query, key, scale, precision)
    shape = scores.value.shape
    allowed = attendable_keys(shape, mask, is_causal=is_causal, causal_alignment=causal_alignment)
    logits = _masked(scores, mask, allowed, precision)
    dead = cast("NDArray[np.bool_]", ~allowed.any(axis=-1))
    if uniform_dead_rows:
        allowed = allowed | dead[..., None]
        logits = Estimate(np.where(dead[..., None], 0.0, logits.value), logits.error)
    return AttentionTolerance(precision, allowed, dead, scores, logits, value)


def _repeated(heads: Estimate, times: int) -> Estimate:
    if times == 1:
        return heads
    return Estimate(np.repeat(heads.value, times, axis=-3), np.repeat(heads.error, times, axis=-3), heads.is_exact)


def _scores(query: Estimate, key: Estimate, scale: float | None, precision: Precision) -> Estimate:
    """Scaled scores; the scale may be applied after the product, or split over query and key before it."""
    width = query.value.shape[-1]
    factor = 1 / math.sqrt(width) if scale is None else scale
    keys, key_error = np.swapaxes(key.value, -1, -2), np.swapaxes(key.error, -1, -2)
    scores = factor * (query.value @ keys)
    spread = abs(factor) * np.sqrt(query.value**2 @ keys**2)
    stored = precision.at_rank(scores.ndim).stored * 2 * (np.abs(scores) + spread)
    own = stored + summation_error(scores, spread, width, precision)
    if query.is_exact and key.is_exact:
        return Estimate(scores, own)
    carried = abs(factor) * np.sqrt(query.error**2 @ keys**2 + query.value**2 @ key_error**2)
    return Estimate(scores, carried + own)


def _masked(scores: Estimate, mask: NDArray[Any] | None, allowed: NDArray[np.bool_], precision: Precision) -> Estimate:
    """Logits: the float mask added, excluded keys at minus infinity."""
    if mask is None or mask.dtype == np.bool_:
        return Estimate(np.where(allowed, scores.value, -np.inf), scores.error)
    bias = np.where(np.isfinite(mask), mask, 0.0)
    biased = scores.value + bias
    error = scores.error + precision.at_rank(biased.ndim).stored * (np.abs(bias) + np.abs(biased))
    return Estimate(np.where(allowed, biased, -np.inf), error)


def _norm_of_moves(moved: NDArray[Any], value: NDArray[Any], output: NDArray[Any]) -> NDArray[Any]:
    """Return how far relative errors of the exponentials move the output: || moved_j (value_j - output) || over j."""
    distances = value[..., None, :, :] - output[..., None, :]
    if np.min(moved, where=moved > 0, initial=1.0) < _SQUARE_UNDERFLOWS:
        return norm(moved[..., None] * distances, axis=-2)
    return np.sqrt(((moved * moved)[..., None, :] @ (distances * distances))[..., 0, :])


def _range_of_live_values(value: NDArray[Any], allowed: NDArray[np.bool_]) -> NDArray[Any]:
    """Return, for each query and feature, the largest minus the smallest value that may be attended."""
    if value.shape[-2] == 0:
        return np.zeros((*allowed.shape[:-1], value.shape[-1]))
    if allowed.all():
        return (value.max(axis=-2) - value.min(axis=-2))[..., None, :]
    values, live = value[..., None, :, :], allowed[..., None]
    return np.where(live, values, -np.inf).max(axis=-2) - np.where(live, values, np.inf).min(axis=-2)
