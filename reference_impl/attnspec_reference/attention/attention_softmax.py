"""The softmax of attention: over the keys that a query may attend to, and over the sink of its head.

Part of scaled dot-product attention, whose page is ``spec/operations/attention/scaled_dot_product_attention.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_reference.attention.attention_keys import answered_queries

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Integers


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
