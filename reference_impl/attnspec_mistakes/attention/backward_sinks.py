"""What goes wrong with the gradients of sinks and of the logsumexp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import changing, in_some, mistake, repeating
from attnspec_mistakes.attention.backward_masks import replaying
from attnspec_mistakes.departures import altered, departure, ignoring
from attnspec_reference.attention.attention_gradients import gradient_of_softmax, shares_of_keys
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans


def of_sinks(change: Callable[[Array, Array, Array, Booleans], Array]) -> Backward:
    """Make a backward pass that has another formula for the gradient of the sinks."""

    def gradient(sinks: Array | None, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array | None:
        return None if sinks is None else change(sinks, logsumexp, subtracted, answered)

    return departure(scaled_dot_product_attention_backward, gradient_of_sinks=gradient)


def shares(sinks: Array, logsumexp: Array) -> Array:
    """Return what each sink has of the softmax (B, Hq, Sq)."""
    return np.exp(sinks[:, np.newaxis] - logsumexp)


def of_first_entry(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Sum over the queries of the first batch entry."""
    of_each = -np.where(answered, shares(sinks, logsumexp) * subtracted, 0)
    return of_each[:1].sum(axis=(0, 2))


def of_last_query(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Take what the last query of each sequence gives."""
    of_each = -np.where(answered, shares(sinks, logsumexp) * subtracted, 0)
    return of_each[:, :, -1:].sum(axis=(0, 2))


def averaged(sinks: Array, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Divide by the number of queries of all batch entries."""
    of_each = -np.where(answered, shares(sinks, logsumexp) * subtracted, 0)
    return of_each.sum(axis=(0, 2)) / max(of_each.shape[0] * of_each.shape[2], 1)


def without_share(_sinks: Array, _logsumexp: Array, subtracted: Array, answered: Booleans) -> Array:
    """Leave out what a sink has of the softmax."""
    return -np.where(answered, subtracted, 0).sum(axis=(0, 2))


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


def without_sinks(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave the sinks out of the softmax."""
    return {} if given["sinks"] is None else {"sinks": None}


def delta_of_attended(**arguments: Any) -> AttentionGradients:
    """Divide delta by what the keys have of the softmax, so that their shares sum to one."""
    sinks = arguments.get("sinks")
    if sinks is None:
        return scaled_dot_product_attention_backward(**arguments)

    def gradient(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
        total = weights.sum(axis=-1)
        return gradient_of_softmax(weights, grad_weights, subtracted / np.where(total == 0, 1, total), attendable)

    return departure(scaled_dot_product_attention_backward, gradient_of_softmax=gradient)(**arguments)


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


def shares_from_bits(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take the stored logsumexp for one to the base 2."""
    return shares_of_keys(logits, logsumexp * math.log(2), attendable)


def shares_of_small(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take both exponentials apart."""
    return np.where(attendable, np.exp(logits) / np.exp(logsumexp)[..., np.newaxis], 0)


def shares_of_maximum(logits: Array, _logsumexp: Array, attendable: Booleans) -> Array:
    """Subtract the largest logit, and do not divide by the sum."""
    largest = np.where(attendable, logits, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    return np.where(attendable, np.exp(logits - np.where(largest == -np.inf, 0, largest)), 0)


def not_shifted(logits: Array, _largest: Array) -> Array:
    """Subtract nothing."""
    return np.exp(logits)


def of_sum(_largest: Array, total: Array) -> Array:
    """Take the logarithm of the sum, which nothing was subtracted from."""
    return np.log(total)[..., 0]


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

    return departure(scaled_dot_product_attention_backward, gradient_of_softmax=gradient)(**arguments)


def dropped_in_sinks(**arguments: Any) -> AttentionGradients:
    """Leave the gradient of the logsumexp out of the gradient of the sinks."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    arguments["grad_logsumexp"] = None
    return gradients._replace(grad_sinks=scaled_dot_product_attention_backward(**arguments).grad_sinks)


MISTAKES = (
    mistake(
        id="sdpa_backward.sinks_ignored",
        clause="sdpa_backward.sinks",
        sentence="The sinks were left out when the weights were found anew.",
        engineer="The backward kernel recomputes P and the row sum without the sink column.",
        remedy="Let the exponential of the sink join the denominator on the way back, too.",
        function=in_some(
            repeating(without_sinks), *("grad_query", "grad_key", "grad_value", "grad_mask", "delta", "grad_scores")
        ),
    ),
    mistake(
        id="sdpa_backward.sink_in_delta",
        clause="sdpa_backward.delta",
        sentence="Delta was divided by what the keys have of the softmax, as if there were no sink.",
        engineer="D is normalised by the row sum without the sink column.",
        remedy="Count each gradient of a weight with its weight as it is; the sink adds 0.",
        function=delta_of_attended,
    ),
    mistake(
        id="sdpa_backward.sink_gradient_negated",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of the sinks has the wrong sign.",
        engineer="dsink = +sum(P_sink * D) where the sign is minus.",
        remedy="A sink takes from all keys: multiply its share by grad_logsumexp less delta.",
        function=changing(grad_sinks=lambda gradient, _: -gradient),
    ),
    mistake(
        id="sdpa_backward.sink_share_missing",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of the sinks was not multiplied by the share that a sink has of the softmax.",
        engineer="dsink = -sum(D): the factor P_sink is missing.",
        remedy="Multiply by the exponential of the sink less the logsumexp.",
        function=of_sinks(without_share),
    ),
    mistake(
        id="sdpa_backward.sink_as_key",
        clause="sdpa_backward.grad_sinks",
        sentence="The share of the sink was multiplied by one less itself.",
        engineer="dsink uses P_sink * (1 - P_sink), the diagonal of the Jacobian, instead of P_sink.",
        remedy="Multiply by the share of the sink alone.",
        function=of_sinks(as_attended),
    ),
    mistake(
        id="sdpa_backward.sinks_of_first_entry",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of the sinks came from the first batch entry alone.",
        engineer="dsink is written by the programs of batch entry 0.",
        remedy="Sum over the queries of all batch entries.",
        function=of_sinks(of_first_entry),
    ),
    mistake(
        id="sdpa_backward.sinks_of_last_query",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of the sinks came from the last query alone.",
        engineer="Each query tile overwrites dsink instead of adding to it.",
        remedy="Sum over all queries.",
        function=of_sinks(of_last_query),
    ),
    mistake(
        id="sdpa_backward.sinks_averaged",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of the sinks is a mean over the queries, not a sum.",
        engineer="dsink is reduced with mean over batch and rows.",
        remedy="Sum over all queries, and divide by nothing.",
        function=of_sinks(averaged),
    ),
    mistake(
        id="sdpa_backward.sinks_of_groups",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of a sink was summed over the query heads of its group.",
        engineer="dsink is reduced over the group along with dK and dV.",
        remedy="Each query head has a sink of its own: sum over its queries alone.",
        function=changing(grad_sinks=within_groups),
    ),
    mistake(
        id="sdpa_backward.sinks_of_unanswered",
        clause="sdpa_backward.query_lengths",
        sentence="Queries that do not count added to the gradient of the sinks.",
        engineer="dsink is summed over all Sq rows of every batch entry.",
        remedy="Leave queries from number N on out of the sum.",
        function=of_sinks(with_unanswered),
    ),
    mistake(
        id="sdpa_backward.sinks_without_logsumexp",
        clause="sdpa_backward.grad_sinks",
        sentence="The gradient of the logsumexp was left out of the gradient of the sinks.",
        engineer="dsink = -sum(P_sink * D) lacks + P_sink * dlse.",
        remedy="Multiply the share of the sink by grad_logsumexp less delta.",
        function=dropped_in_sinks,
    ),
    mistake(
        id="sdpa_backward.sinks_without_empty_rows",
        clause="sdpa_backward.sinks.fully_masked_row",
        sentence="Queries of which the sink has all were left out of the gradient of the sinks.",
        engineer="Fully masked rows return early, before dsink is accumulated.",
        remedy="Add the grad_logsumexp of a query without keys to the gradient of its sink.",
        function=of_sinks(without_rows_of_sinks),
    ),
    mistake(
        id="sdpa_backward.logsumexp_gradient_dropped",
        clause="sdpa_backward.grad_logsumexp",
        sentence="The gradient of the logsumexp was left out.",
        engineer="dlse is not read, as in kernels that mark the logsumexp as not differentiable.",
        remedy="Add weight times grad_logsumexp to the gradient of each logit.",
        function=ignoring(scaled_dot_product_attention_backward, "grad_logsumexp"),
    ),
    mistake(
        id="sdpa_backward.logsumexp_gradient_subtracted",
        clause="sdpa_backward.grad_logsumexp",
        sentence="The gradient of the logsumexp was subtracted instead of added.",
        engineer="dlse is added to D instead of subtracted from it.",
        remedy="Add weight times grad_logsumexp to the gradient of each logit.",
        function=of_logsumexp(np.negative),
    ),
    mistake(
        id="sdpa_backward.logsumexp_gradient_unweighted",
        clause="sdpa_backward.grad_logsumexp",
        sentence="The gradient of the logsumexp was added to the gradients of the logits without the weights.",
        engineer="dS = P * (dP - D) + dlse: the factor P is missing before dlse.",
        remedy="Multiply grad_logsumexp by the weight of each key.",
        function=unweighted,
    ),
    mistake(
        id="sdpa_backward.logsumexp_gradient_in_bits",
        clause="sdpa_backward.grad_logsumexp",
        sentence="The gradient of the logsumexp was taken for that of a logarithm to the base 2.",
        engineer="dlse is multiplied by log2(e), though the logsumexp is natural.",
        remedy="Use grad_logsumexp as it is; for a logsumexp to the base 2, declare logsumexp_base.",
        function=of_logsumexp(lambda gradient: gradient * np.asarray(math.log2(math.e), dtype=gradient.dtype)),
    ),
    mistake(
        id="sdpa_backward.logsumexp_gradient_transposed",
        clause="sdpa_backward.grad_logsumexp",
        sentence="Heads and tokens of grad_logsumexp changed places.",
        engineer="dlse is read as (B, Sq, Hq).",
        remedy="Read grad_logsumexp as (B, Hq, Sq).",
        function=of_logsumexp(transposed),
    ),
    mistake(
        id="sdpa_backward.logsumexp_transposed",
        clause="sdpa_backward.stored",
        sentence="Heads and tokens of the stored logsumexp changed places.",
        engineer="The saved LSE is read as (B, Sq, Hq).",
        remedy="Read the stored logsumexp as (B, Hq, Sq).",
        function=with_stored(transposed),
    ),
    mistake(
        id="sdpa_backward.logsumexp_of_first_entry",
        clause="sdpa_backward.stored",
        sentence="Every batch entry and head got the stored logsumexp of the first one.",
        engineer="The batch and head strides of the saved LSE are 0.",
        remedy="Read the logsumexp of the query's own batch entry and head.",
        function=with_stored(lambda stored: np.broadcast_to(stored[:1, :1], stored.shape)),
    ),
    mistake(
        id="sdpa_backward.logsumexp_to_base_two",
        clause="sdpa_backward.stored",
        sentence="The stored logsumexp was taken for one to the base 2.",
        engineer="P = exp2(s * log2(e) - lse) is fed a natural LSE.",
        remedy="Take the stored logsumexp to the base e; for the base 2, declare logsumexp_base.",
        function=departure(scaled_dot_product_attention_backward, shares_of_keys=shares_from_bits),
    ),
    mistake(
        id="sdpa_backward.powers_of_two",
        clause="sdpa_backward.stored",
        sentence="The weights were found anew as powers of 2 of the logits less the logsumexp, not of e.",
        engineer="P = exp2(s - lse) lacks log2(e) in the exponent.",
        remedy="Take the exponential to the base e.",
        function=departure(scaled_dot_product_attention_backward, shares_of_keys=shares_to_base_two),
    ),
    mistake(
        id="sdpa_backward.stored_weights_not_divided",
        clause="sdpa_backward.stored",
        sentence="The weights were found anew with the largest logit in place of the stored logsumexp.",
        engineer="The saved row maximum is subtracted, and the row sum is forgotten.",
        remedy="Subtract the logsumexp, or subtract the maximum and divide by the sum.",
        function=departure(scaled_dot_product_attention_backward, shares_of_keys=shares_of_maximum),
    ),
    mistake(
        id="sdpa_backward.exponentials_apart",
        clause="sdpa_backward.softmax.stability",
        sentence="The exponentials of logit and stored logsumexp were taken apart, where each may overflow.",
        engineer="P = exp(s) / exp(lse) instead of exp(s - lse).",
        remedy="Subtract the logsumexp before the exponential.",
        function=departure(scaled_dot_product_attention_backward, shares_of_keys=shares_of_small),
    ),
    mistake(
        id="sdpa_backward.no_maximum",
        clause="sdpa_backward.softmax.stability",
        sentence="The weights were found anew without subtracting the largest logit, and large ones overflow.",
        engineer="The backward pass recomputes P = exp(s) / sum(exp(s)) without the row maximum.",
        remedy="Subtract the largest logit of each row before the exponential.",
        function=ignoring(replaying(exponentiate=not_shifted, log_sum_exp=of_sum), "logsumexp"),
    ),
)
"""In the order of the page: sinks, then the logsumexp that is given, and its gradient."""
