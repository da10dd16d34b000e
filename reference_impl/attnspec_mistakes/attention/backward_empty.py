"""What goes wrong where nothing may be attended to, and where what is excluded is not even a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import changing, mistake
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import gradient_of_softmax, shares_of_keys
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_reference.precision import Array, Booleans


def nan_in_empty_rows(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Subtract minus infinity from itself in a row without keys."""
    gradient = gradient_of_softmax(weights, grad_weights, subtracted, attendable)
    return np.where(attendable.any(axis=-1, keepdims=True), gradient, np.nan)


def shares_without_exclusion(logits: Array, logsumexp: Array, _attendable: Booleans) -> Array:
    """Subtract minus infinity from itself in a row without keys."""
    return np.exp(logits - logsumexp[..., np.newaxis])


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


MISTAKES = (
    mistake(
        id="sdpa_backward.empty_row_nan",
        clause="sdpa_backward.fully_masked_row",
        sentence="A query that may attend to no key made the gradients of all keys and values of its head NaN.",
        engineer="P of a fully masked row is 0/0, and 0 * NaN spreads through dK and dV.",
        remedy="Give a query without keys weights of 0; or declare the convention fully_masked_row=nan.",
        function=departure(
            scaled_dot_product_attention_backward,
            gradient_of_softmax=nan_in_empty_rows,
            sum_for_keys=plain_product,
            sum_for_queries=plain_product_of_keys,
        ),
        source="https://github.com/Xilinx/brevitas/pull/1591",
    ),
    mistake(
        id="sdpa_backward.empty_row_nan_when_stored",
        clause="sdpa_backward.fully_masked_row",
        sentence="With a stored logsumexp, a query without keys got NaN: minus infinity less minus infinity.",
        engineer="exp(s - lse) is exp(-inf - -inf) in a fully masked row, and is not selected away.",
        remedy="Where the logsumexp is minus infinity, let all weights be 0.",
        function=departure(
            scaled_dot_product_attention_backward,
            shares_of_keys=shares_without_exclusion,
            gradient_of_softmax=plain_gradient,
            sum_for_keys=plain_product,
            sum_for_queries=plain_product_of_keys,
        ),
    ),
    mistake(
        id="sdpa_backward.empty_row_weighs_one",
        clause="sdpa_backward.fully_masked_row",
        sentence="With a stored logsumexp, a query without keys gave its whole gradient to every value.",
        engineer="s and lse are both the same large negative number in a fully masked row, so P = exp(0) = 1.",
        remedy="Let all weights of a query without keys be 0.",
        function=departure(
            scaled_dot_product_attention_backward, shares_of_keys=ones_in_empty_rows, sum_for_keys=plain_product
        ),
    ),
    mistake(
        id="sdpa_backward.empty_row_shared_by_all",
        clause="sdpa_backward.fully_masked_row",
        sentence="The gradient of a query without keys was shared out among all values.",
        engineer="A fully masked row has uniform P in the backward pass: the mask is a large negative number.",
        remedy="Let such a query add nothing; or declare the convention fully_masked_row=uniform.",
        function=shared_by_all,
    ),
    mistake(
        id="sdpa_backward.excluded_value_heard",
        clause="sdpa_backward.masked_nonfinite",
        sentence="A value that is not finite reached the gradients through keys that may not be attended.",
        engineer="dS = P * (dP - D) is computed at excluded keys, where 0 * NaN is NaN.",
        remedy="Select by what may be attended; or declare the convention masked_nonfinite=propagates.",
        function=departure(
            scaled_dot_product_attention_backward, sum_attended=plain_sum, gradient_of_softmax=plain_gradient
        ),
    ),
    mistake(
        id="sdpa_backward.excluded_value_in_delta",
        clause="sdpa_backward.masked_nonfinite",
        sentence="A value that is not finite and may not be attended reached delta.",
        engineer="D is summed over all keys of the row, where 0 * NaN is NaN.",
        remedy="Sum delta over the keys that may be attended; or declare masked_nonfinite=propagates.",
        function=departure(scaled_dot_product_attention_backward, sum_attended=plain_sum),
    ),
    mistake(
        id="sdpa_backward.excluded_key_heard",
        clause="sdpa_backward.masked_nonfinite",
        sentence="A key that is not finite reached the gradients of queries that may not attend to it.",
        engineer="dQ = dS K multiplies excluded keys by 0, and 0 * NaN is NaN.",
        remedy="Select the keys that may be attended; or declare the convention masked_nonfinite=propagates.",
        function=departure(scaled_dot_product_attention_backward, sum_for_queries=plain_product_of_keys),
    ),
    mistake(
        id="sdpa_backward.unanswered_query_heard",
        clause="sdpa_backward.query_lengths",
        sentence="NaN in rows of queries that do not count reached the gradients of keys and values.",
        engineer="dV = P^T dO and dK = dS^T Q multiply padded rows by 0, and 0 * NaN is NaN.",
        remedy="Select the queries that count.",
        function=departure(scaled_dot_product_attention_backward, sum_for_keys=plain_product),
    ),
    mistake(
        id="sdpa_backward.nan_made_zero",
        clause="sdpa_backward.nonfinite_input",
        sentence="Gradients that are NaN were replaced by 0.",
        engineer="nan_to_num hides NaN in the gradients.",
        remedy="Let NaN take its course: it tells of a fault elsewhere.",
        function=changing(grad_query=nan_to_zero, grad_key=nan_to_zero, grad_value=nan_to_zero),
    ),
    mistake(
        id="sdpa_backward.buffers_not_cleared_without_queries",
        clause="sdpa_backward.grad_key",
        sentence="Without queries, the gradients of keys and values hold whatever was in memory.",
        engineer="dK and dV are allocated empty, and no program writes them where Sq is 0.",
        remedy="Give keys and values the gradient 0 where there are no queries.",
        function=changing(grad_key=nothing_without_queries, grad_value=nothing_without_queries),
        source="https://github.com/Dao-AILab/flash-attention/pull/2421",
    ),
    mistake(
        id="sdpa_backward.buffers_not_cleared_without_keys",
        clause="sdpa_backward.no_keys",
        sentence="Without keys, the gradient of the queries holds whatever was in memory.",
        engineer="dQ is allocated empty, and no program writes it where Sk is 0.",
        remedy="Give queries the gradient 0 where there are no keys.",
        function=changing(grad_query=nothing_without_keys),
    ),
    mistake(
        id="sdpa_backward.small_gradients_dropped",
        clause="sdpa_backward.recomputed",
        sentence="Gradients that are small beside the largest of their head were set to 0.",
        engineer="Tiles whose P is below a threshold are skipped in the backward pass.",
        remedy="Add what every key gives, however little.",
        function=changing(grad_query=small_weights_dropped, grad_key=small_weights_dropped),
    ),
)
"""In the order of the page."""
