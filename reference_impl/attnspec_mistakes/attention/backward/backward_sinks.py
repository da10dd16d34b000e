"""What goes wrong in the backward pass with sinks, with the logsumexp, and where nothing may be attended to."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import (
    Backward,
    backward_with,
    changing,
    in_some,
    repeating,
    replaying,
)
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import altered, ignoring, replacing
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    gradient_of_softmax,
    scaled_dot_product_attention_backward,
    shares_of_keys,
)
from attnspec_reference.precision import Array, Booleans


def of_sinks(change: Callable[[Array, Array, Array, Booleans], Array]) -> Backward:
    """Make a backward pass that has another formula for the gradient of the sinks."""
    return backward_with(
        gradient_of_sinks=lambda sinks, logsumexp, subtracted, answered: (
            None if sinks is None else change(sinks, logsumexp, subtracted, answered)
        )
    )


def shares(sinks: Array, logsumexp: Array) -> Array:
    """Return what each sink has of the softmax (B, Hq, Sq)."""
    return np.exp(sinks[:, np.newaxis] - logsumexp)


def summed_to_sinks(total: Callable[[Array], Array]) -> Backward:
    """Make a backward pass that sums what each query gives to a sink (B, Hq, Sq) in another way."""
    return of_sinks(
        lambda sinks, logsumexp, subtracted, answered: total(
            -np.where(answered, shares(sinks, logsumexp) * subtracted, 0)
        )
    )


def with_unanswered(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Give queries that do not count the whole of the sink."""
    whole = np.where(answered, shares(sinks, logsumexp), 1)
    return -(whole * subtracted).sum(axis=(0, 2))


def as_attended(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Differentiate the sink like a key: its share times one less its share."""
    share = shares(sinks, logsumexp)
    return -np.where(answered, share * (1 - share) * subtracted, 0).sum(axis=(0, 2))


def within_groups(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Give each head the sum over its group."""
    shared = np.shape(arguments["key"])[1]
    grouped = gradient.reshape(shared, -1).astype(float) if gradient.size else gradient
    return np.broadcast_to(grouped.sum(axis=-1, keepdims=True), grouped.shape).reshape(gradient.shape)


def without_rows_of_sinks(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Leave out the rows of which the sink has all."""
    partly = answered & (shares(sinks, logsumexp) < 1)
    return -np.where(partly, shares(sinks, logsumexp) * subtracted, 0).sum(axis=(0, 2))


def delta_of_attended(**arguments: Any) -> AttentionGradients:
    """Divide delta by what the keys have of the softmax, so that their shares sum to one."""
    sinks = arguments.get("sinks")
    if sinks is None:
        return scaled_dot_product_attention_backward(**arguments)

    def gradient(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
        total = weights.sum(axis=-1)
        return gradient_of_softmax(weights, grad_weights, subtracted / np.where(total == 0, 1, total), attendable)

    return backward_with(gradient_of_softmax=gradient)(**arguments)


def with_stored(change: Callable[[Array], Array]) -> Backward:
    """Make a backward pass that misreads the stored logsumexp."""
    return altered(scaled_dot_product_attention_backward, logsumexp=change)


def transposed(of_queries: Array) -> Array:
    """Read (B, Hq, Sq) as if it lay in memory as (B, Sq, Hq)."""
    batch, heads, queries = of_queries.shape
    return np.swapaxes(np.reshape(of_queries, (batch, queries, heads)), 1, 2)


def shares_to_base_two(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Raise 2 to the distance."""
    return np.where(attendable, np.exp2(logits - logsumexp[..., np.newaxis]), 0)


def shares_of_small(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take both exponentials apart."""
    return np.where(attendable, np.exp(logits) / np.exp(logsumexp)[..., np.newaxis], 0)


def shares_of_maximum(logits: Array, _logsumexp: Array, attendable: Booleans) -> Array:
    """Subtract the largest logit, and do not divide by the sum."""
    largest = np.where(attendable, logits, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    return np.where(attendable, np.exp(logits - np.where(largest == -np.inf, 0, largest)), 0)


def of_logsumexp(change: Callable[[Array], Array]) -> Backward:
    """Make a backward pass that hears another gradient of the logsumexp."""
    return altered(scaled_dot_product_attention_backward, grad_logsumexp=change)


def unweighted(**arguments: Any) -> AttentionGradients:
    """Add the gradient of the logsumexp to the gradients of the logits without the weights."""
    added = arguments.get("grad_logsumexp")
    if added is None:
        return scaled_dot_product_attention_backward(**arguments)

    def gradient(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
        more = np.asarray(added).astype(weights.dtype)
        right = gradient_of_softmax(weights, grad_weights, subtracted + more, attendable)
        return np.where(attendable, right + more[..., np.newaxis], 0)

    return backward_with(gradient_of_softmax=gradient)(**arguments)


def nan_in_empty_rows(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Subtract minus infinity from itself in a row without keys."""
    gradient = gradient_of_softmax(weights, grad_weights, subtracted, attendable)
    return np.where(attendable.any(axis=-1, keepdims=True), gradient, np.nan)


def ones_in_empty_rows(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take a difference of infinities for 0, so that every key gets the weight 1."""
    shares = shares_of_keys(logits, logsumexp, attendable)
    return np.where(attendable.any(axis=-1, keepdims=True), shares, 1)


def shared_by_all(**arguments: Any) -> AttentionGradients:
    """Give every value its share of the gradient of a query without keys."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    forward = {
        name: value
        for name, value in arguments.items()
        if name not in ("grad_output", "output", "logsumexp", "grad_logsumexp")
    }
    logits = scaled_dot_product_attention(**forward).logits
    empty = np.isneginf(logits).all(axis=-1, keepdims=True)
    if not logits.shape[-1] or not empty.any():
        return gradients
    lost = np.where(empty, np.asarray(arguments["grad_output"]).astype(np.float64), 0).sum(axis=2, keepdims=True)
    batch, shared, _, width = gradients.grad_value.shape
    lost = lost.reshape(batch, shared, -1, 1, width).sum(axis=2) / logits.shape[-1]
    return gradients._replace(grad_value=(gradients.grad_value + lost).astype(gradients.grad_value.dtype))


def plain_product(of_scores: Array, of_queries: Array, _attendable: Booleans) -> Array:
    """Multiply matrices, where 0 times NaN is NaN."""
    return of_scores.swapaxes(-1, -2) @ of_queries


def plain_product_of_keys(grad_scores: Array, key: Array, _attendable: Booleans) -> Array:
    """Multiply matrices, where 0 times NaN is NaN."""
    return grad_scores @ key


def plain_sum(products: Array, _attendable: Booleans) -> Array:
    """Sum over all keys."""
    return products.sum(axis=-1)


def plain_gradient(weights: Array, grad_weights: Array, subtracted: Array, _attendable: Booleans) -> Array:
    """Multiply excluded keys by their weight of 0."""
    return weights * (grad_weights - subtracted[..., np.newaxis])


def nan_to_zero(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Put 0 for whatever is no number."""
    return np.nan_to_num(gradient.astype(np.float64), nan=0.0)


def nothing_without_queries(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Return NaN where there are no queries."""
    return np.full_like(gradient, np.nan) if not np.shape(arguments["query"])[2] else gradient


def nothing_without_keys(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Return NaN where there are no keys."""
    return np.full_like(gradient, np.nan) if not np.shape(arguments["key"])[2] else gradient


def small_weights_dropped(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Put 0 for gradients that are small beside the largest of their head."""
    size = np.abs(gradient.astype(np.float64))
    largest = size.max(axis=(-1, -2), keepdims=True, initial=0.0)
    return np.where(size < largest / 64, 0, gradient)


WITHOUT_LOGSUMEXP = ignoring(scaled_dot_product_attention_backward, "grad_logsumexp")


FUNCTIONS: Mapping[str, Making] = {
    "sdpa_backward.sinks_ignored": in_some(
        repeating(lambda given: {} if given["sinks"] is None else {"sinks": None}),
        *("grad_query", "grad_key", "grad_value", "grad_mask", "delta", "grad_scores"),
    ),
    "sdpa_backward.sink_in_delta": delta_of_attended,
    "sdpa_backward.sink_gradient_negated": changing(grad_sinks=lambda gradient, _: -gradient),
    "sdpa_backward.sink_share_missing": of_sinks(
        lambda _sinks, _logsumexp, subtracted, answered: -np.where(answered, subtracted, 0).sum(axis=(0, 2))
    ),
    "sdpa_backward.sink_as_key": of_sinks(as_attended),
    "sdpa_backward.sinks_of_first_entry": summed_to_sinks(lambda terms: terms[:1].sum(axis=(0, 2))),
    "sdpa_backward.sinks_of_last_query": summed_to_sinks(lambda terms: terms[:, :, -1:].sum(axis=(0, 2))),
    "sdpa_backward.sinks_averaged": summed_to_sinks(
        lambda terms: terms.sum(axis=(0, 2)) / max(terms.shape[0] * terms.shape[2], 1)
    ),
    "sdpa_backward.sinks_of_groups": changing(grad_sinks=within_groups),
    "sdpa_backward.sinks_of_unanswered": of_sinks(with_unanswered),
    "sdpa_backward.sinks_without_logsumexp": replacing(
        scaled_dot_product_attention_backward, grad_sinks=lambda _right, given: WITHOUT_LOGSUMEXP(**given).grad_sinks
    ),
    "sdpa_backward.sinks_without_empty_rows": of_sinks(without_rows_of_sinks),
    "sdpa_backward.logsumexp_gradient_dropped": WITHOUT_LOGSUMEXP,
    "sdpa_backward.logsumexp_gradient_subtracted": of_logsumexp(np.negative),
    "sdpa_backward.logsumexp_gradient_unweighted": unweighted,
    "sdpa_backward.logsumexp_gradient_in_bits": of_logsumexp(
        lambda gradient: gradient * np.asarray(math.log2(math.e), dtype=gradient.dtype)
    ),
    "sdpa_backward.logsumexp_gradient_transposed": of_logsumexp(transposed),
    "sdpa_backward.logsumexp_transposed": with_stored(transposed),
    "sdpa_backward.logsumexp_of_first_entry": with_stored(lambda stored: np.broadcast_to(stored[:1, :1], stored.shape)),
    "sdpa_backward.logsumexp_to_base_two": backward_with(
        shares_of_keys=lambda logits, logsumexp, attendable: shares_of_keys(logits, logsumexp * math.log(2), attendable)
    ),
    "sdpa_backward.powers_of_two": backward_with(shares_of_keys=shares_to_base_two),
    "sdpa_backward.stored_weights_not_divided": backward_with(shares_of_keys=shares_of_maximum),
    "sdpa_backward.exponentials_apart": backward_with(shares_of_keys=shares_of_small),
    "sdpa_backward.no_maximum": ignoring(
        replaying(
            exponentiate=lambda logits, _largest: np.exp(logits),
            log_sum_exp=lambda _largest, total: np.log(total)[..., 0],
        ),
        "logsumexp",
    ),
    "sdpa_backward.empty_row_nan": backward_with(
        gradient_of_softmax=nan_in_empty_rows, sum_for_keys=plain_product, sum_for_queries=plain_product_of_keys
    ),
    "sdpa_backward.empty_row_nan_when_stored": backward_with(
        shares_of_keys=lambda logits, logsumexp, _attendable: np.exp(logits - logsumexp[..., np.newaxis]),
        gradient_of_softmax=plain_gradient,
        sum_for_keys=plain_product,
        sum_for_queries=plain_product_of_keys,
    ),
    "sdpa_backward.empty_row_weighs_one": backward_with(shares_of_keys=ones_in_empty_rows, sum_for_keys=plain_product),
    "sdpa_backward.empty_row_shared_by_all": shared_by_all,
    "sdpa_backward.excluded_value_heard": backward_with(sum_attended=plain_sum, gradient_of_softmax=plain_gradient),
    "sdpa_backward.excluded_value_in_delta": backward_with(sum_attended=plain_sum),
    "sdpa_backward.excluded_key_heard": backward_with(sum_for_queries=plain_product_of_keys),
    "sdpa_backward.unanswered_query_heard": backward_with(sum_for_keys=plain_product),
    "sdpa_backward.nan_made_zero": changing(grad_query=nan_to_zero, grad_key=nan_to_zero, grad_value=nan_to_zero),
    "sdpa_backward.buffers_not_cleared_without_queries": changing(
        grad_key=nothing_without_queries, grad_value=nothing_without_queries
    ),
    "sdpa_backward.buffers_not_cleared_without_keys": changing(grad_query=nothing_without_keys),
    "sdpa_backward.small_gradients_dropped": changing(grad_query=small_weights_dropped, grad_key=small_weights_dropped),
}
