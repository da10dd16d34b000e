"""The tolerance of attention, from query, key and value that may carry errors themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.comparison.estimates import Estimate, exponent_error, norm, share_error, summation_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.comparison.precision import Precision


_SQUARE_UNDERFLOWS = 1e-140


@dataclass(frozen=True)
class AttentionTolerance:
    """Float64 values and final tolerances of every output of attention.

    Attributes
    ----------
    output, weights, logsumexp, scores, logits
        As the operation's outputs; the error of each is its tolerance.
    ungraded
        Elements of the output whose tolerance says nothing: it exceeds half the range of the live values.
    dead
        Queries (B, Hq, Sq) that may attend no key.
    """

    output: Estimate
    weights: Estimate
    logsumexp: Estimate
    scores: Estimate
    logits: Estimate
    ungraded: NDArray[np.bool_]
    dead: NDArray[np.bool_]


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

    Notes
    -----
    The output does not inherit the error of the weights element by element: what all weights of a row share
    cancels, so each key's error acts through the distance of its value from the output.
    """
    shared = query.value.shape[1] // max(key.value.shape[1], 1)
    key, value = _repeated(key, shared), _repeated(value, shared)
    scores, score_error = _scores(query, key, scale, precision)
    allowed = attendable_keys(scores.shape, mask, is_causal=is_causal, causal_alignment=causal_alignment)
    logits, logit_error = _masked(scores, score_error, mask, allowed, precision)
    dead = ~allowed.any(axis=-1)
    if uniform_dead_rows:
        allowed = allowed | dead[..., None]
        logits = np.where(dead[..., None], 0.0, logits)

    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    alive = largest > -np.inf
    distance = np.where(allowed, np.where(alive, largest, 0.0) - logits, 0.0)
    exponentials = np.where(allowed, np.exp(-distance), 0.0)
    total = exponentials.sum(axis=-1, keepdims=True)
    shares = exponentials / np.where(alive, total, 1.0)
    relative = np.where(allowed, exponent_error(distance, logit_error, precision), 0.0)

    output, output_error, ungraded = _weighted_sum(shares, relative, value, allowed, precision)
    logsumexp = (largest + np.log(total))[..., 0]
    return AttentionTolerance(
        output=Estimate(output, output_error),
        weights=Estimate(shares, share_error(shares, relative, precision)),
        logsumexp=Estimate(logsumexp, _logsumexp_error(logsumexp, shares, relative, precision)),
        scores=Estimate(scores, _final(scores, score_error, precision)),
        logits=Estimate(logits, np.where(allowed, _final(scores, logit_error, precision), 0.0)),
        ungraded=ungraded,
        dead=dead,
    )


def _repeated(heads: Estimate, times: int) -> Estimate:
    if times == 1:
        return heads
    return Estimate(np.repeat(heads.value, times, axis=1), np.repeat(heads.error, times, axis=1), heads.is_exact)


def _scores(
    query: Estimate, key: Estimate, scale: float | None, precision: Precision
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scaled scores; the scale may be applied after the product, or split over query and key before it."""
    width = query.value.shape[-1]
    factor = 1 / math.sqrt(width) if scale is None else scale
    keys, key_error = np.swapaxes(key.value, -1, -2), np.swapaxes(key.error, -1, -2)
    scores = factor * (query.value @ keys)
    spread = abs(factor) * np.sqrt(query.value**2 @ keys**2)
    stored = precision.stored * 2 * (np.abs(scores) + spread)
    own = stored + summation_error(scores, spread, width, precision)
    if query.is_exact and key.is_exact:
        return scores, own
    carried = abs(factor) * np.sqrt(query.error**2 @ keys**2 + query.value**2 @ key_error**2)
    return scores, carried + own


def _masked(
    scores: NDArray[Any],
    error: NDArray[Any],
    mask: NDArray[Any] | None,
    allowed: NDArray[np.bool_],
    precision: Precision,
) -> tuple[NDArray[Any], NDArray[Any]]:
    if mask is not None and mask.dtype != np.bool_:
        bias = np.where(np.isfinite(mask), mask, 0.0)
        biased = scores + bias
        error = error + precision.stored * (np.abs(bias) + np.abs(biased))
    else:
        biased = scores
    return np.where(allowed, biased, -np.inf), error


def _weighted_sum(
    shares: NDArray[Any],
    relative: NDArray[Any],
    value: Estimate,
    allowed: NDArray[np.bool_],
    precision: Precision,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    output = shares @ value.value
    keys = allowed.sum(axis=-1, keepdims=True)
    moved = shares * relative
    spread = np.sqrt((shares * shares) @ (value.value * value.value))
    from_sum = summation_error(output, spread, keys, precision)
    from_logits = _norm_of_moves(moved, value.value, output)
    from_values = 0.0 if value.is_exact else np.sqrt((shares * shares) @ (value.error * value.error))
    # A kernel may round the weights to the dtype before it multiplies them with the values.
    from_weights = precision.output * (1.5 if precision.rounds_between_phases else 1.0) * (np.abs(output) + 2 * spread)
    flushed = precision.smallest * ((keys > 0) + allowed @ np.abs(value.value))
    error = 2 * (from_logits + from_sum + from_values) + from_weights + precision.output * np.abs(output) + flushed
    reach = _range_of_live_values(value.value, allowed)
    return output, error, (reach > 0) & (2 * error > reach)


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


def _logsumexp_error(
    logsumexp: NDArray[Any], shares: NDArray[Any], relative: NDArray[Any], precision: Precision
) -> NDArray[Any]:
    alive = np.isfinite(logsumexp)
    size = np.where(alive, np.abs(logsumexp), 0.0)
    from_sum = precision.accumulator * (0.5 * math.sqrt(shares.shape[-1]) + 2 + size)
    error = 2 * ((shares * relative).sum(axis=-1) + from_sum) + precision.output * size + precision.smallest
    return np.where(alive, error, 0.0)


def _final(value: NDArray[Any], error: NDArray[Any], precision: Precision) -> NDArray[Any]:
    return 2 * error + precision.output * np.abs(value) + precision.smallest
