"""The phases of attention: projection, scores, the softmax over keys and a sink, weighed values.

Each function is one step of a specification page, or the arithmetic in it; several operations share them.
"""

from __future__ import annotations

import math

import numpy as np

from attnspec_reference.attention.attention_logits import answered_queries
from attnspec_reference.precision import Array, Booleans, Integers


def project(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Multiply every token (..., S, D) by a weight matrix (D, D') from the right, and add the bias (D')."""
    product = x @ weight
    return product if bias is None else product + bias


def score_every_key(query: Array, key: Array) -> Array:
    """Take the dot product of every query (..., Sq, E) with every key (..., Sk, E): a row for each query."""
    return query @ key.swapaxes(-1, -2)


def applied_scale(scale: float | None, width: int) -> float:
    """Choose the factor of the scores: the given one, taken literally, or one over the square root of the width."""
    return 1.0 / math.sqrt(width) if scale is None else float(scale)


def scale_scores(raw_scores: Array, scale: float) -> Array:
    """Multiply every score by the scale."""
    return raw_scores * scale


def join_sinks(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
    """Put the sink of each head behind the logits of every query that is answered (B, Hq, Sq, Sk + 1)."""
    if sinks is None:
        return logits
    answered = answered_queries(logits.shape[-2], query_lengths)
    column = np.where(answered, sinks[:, np.newaxis, np.newaxis], -np.inf)
    return np.concatenate([logits, np.broadcast_to(column, (*logits.shape[:-1], 1))], axis=-1)


def largest_logit(logits: Array) -> Array:
    """Find the largest logit of each row (B, Hq, Sq, 1); minus infinity where no key may be attended."""
    return logits.max(axis=-1, keepdims=True, initial=-np.inf)


def exponentiate(logits: Array, largest: Array) -> Array:
    """Take the exponential of each logit's distance from the largest; excluded keys get 0."""
    # In a row without keys the distance would be infinity minus infinity.
    shift = np.where(largest == -np.inf, 0, largest)
    return np.exp(logits - shift)


def sum_over_keys(exponentials: Array) -> Array:
    """Sum each row (B, Hq, Sq, 1); 0 where no key may be attended."""
    return exponentials.sum(axis=-1, keepdims=True)


def divide_by_total(exponentials: Array, total: Array) -> Array:
    """Divide each row by its sum; a row without keys stays zero."""
    return exponentials / np.where(total == 0, 1, total)


def log_sum_exp(largest: Array, total: Array) -> Array:
    """Take the natural logarithm of each row's sum (B, Hq, Sq), undoing the shift by the largest logit."""
    return (largest + np.log(total))[..., 0]


def weigh_values(weights: Array, value: Array, attendable: Booleans | None = None) -> Array:
    """Sum the values (..., Sk, Ev), each times its weight (..., Sq, Sk); without `attendable`, every key counts.

    A key that may not be attended adds nothing, whatever its value holds.
    """
    finite = np.isfinite(value)
    if attendable is None or finite.all():
        return weights @ value
    output = weights @ np.where(finite, value, 0)
    # The weight 0 of an excluded key does not silence a NaN (0 times NaN is NaN): values that are not
    # finite are added apart, by selection.
    remainder = np.where(finite, 0, value)
    for position in np.flatnonzero(~finite.all(axis=(0, 1, 3))):
        column = slice(position, position + 1)
        contribution = weights[..., column] * remainder[..., column, :]
        output = output + np.where(attendable[..., column], contribution, 0)
    return output
