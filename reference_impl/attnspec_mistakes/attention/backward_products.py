"""What goes wrong in the sums and in what is handed back: operands, axes, widths, gradients exchanged."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import changing, in_some, mistake
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import sum_for_keys
from attnspec_reference.attention.phases import score_every_key
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans


def exchanging(first: str, second: str) -> Backward:
    """Make a backward pass that returns two gradients under each other's name."""

    @wraps(scaled_dot_product_attention_backward)
    def computed(**arguments: Any) -> AttentionGradients:
        gradients = scaled_dot_product_attention_backward(**arguments)
        return gradients._replace(**{first: getattr(gradients, second), second: getattr(gradients, first)})

    return computed


def with_transposed(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Leave the scores untransposed."""
    if of_scores.shape[-2] != of_scores.shape[-1]:
        raise ValueError(
            f"the scores have shape {of_scores.shape}: only as many queries as keys let them go untransposed."
        )
    return sum_for_keys(of_scores.swapaxes(-1, -2), of_queries, attendable.swapaxes(-1, -2))


def narrow(grad_output: Array, value: Array, width: int) -> Array:
    """Compare no more features than so many."""
    return score_every_key(grad_output[..., :width], value[..., :width])


def of_key_width(**arguments: Any) -> AttentionGradients:
    """Let the gradients of the weights hear as many features of the values as a key has."""
    width = np.shape(arguments["key"])[-1]

    def product(grad_output: Array, value: Array) -> Array:
        return narrow(grad_output, value, width)

    return departure(scaled_dot_product_attention_backward, score_every_key=product)(**arguments)


def of_pairs(grad_output: Array, value: Array) -> Array:
    """Go through the features two at a time, and leave out what is left over."""
    return narrow(grad_output, value, max(value.shape[-1] // 2 * 2, 1))


def value_gradient_as_wide_as_keys(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Return as many features as a key has."""
    width, owed = np.shape(arguments["key"])[-1], gradient.shape[-1]
    return np.pad(gradient, [(0, 0)] * 3 + [(0, max(width - owed, 0))])[..., :width]


def up_to(gradient: Array, width: int) -> Array:
    """Leave zeros in the features from one on."""
    kept: Booleans = np.less(np.arange(int(gradient.shape[-1])), width)
    return np.where(kept, gradient, 0)


def beyond_key_width_zero(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Leave zeros in the features that a key does not have."""
    return up_to(gradient, np.shape(arguments["key"])[-1])


def beyond_value_width_zero(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Leave zeros in the features that a value does not have."""
    return up_to(gradient, np.shape(arguments["value"])[-1])


def tokens_before_heads(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Write (B, S, H, E) where (B, H, S, E) is owed, in the shape of the latter."""
    return np.swapaxes(gradient, 1, 2).reshape(gradient.shape)


def with_gradient_as_weights(_weights: Array, grad_output: Array, attendable: Booleans) -> Array:
    """Give every key of a query the same share of its gradient."""
    count = attendable.sum(axis=-1, keepdims=True)
    return sum_for_keys(attendable / np.where(count == 0, 1, count), grad_output, attendable)


def even_values(**arguments: Any) -> AttentionGradients:
    """Share out the gradient of the output evenly."""

    def sums(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        return with_gradient_as_weights(of_scores, of_queries, attendable).astype(of_scores.dtype)

    return in_some(departure(scaled_dot_product_attention_backward, sum_for_keys=sums), "grad_value")(**arguments)


def halved(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Halve."""
    return gradient / 2


def of_mean_loss(gradient: Array, _arguments: Mapping[str, Any]) -> Array:
    """Divide by the number of batch entries."""
    return gradient / max(gradient.shape[0], 1)


def of_sum_of_output(**arguments: Any) -> AttentionGradients:
    """Take the gradient of a loss that is the sum of the output."""
    arguments["grad_output"] = np.ones_like(arguments["grad_output"])
    return scaled_dot_product_attention_backward(**arguments)


MISTAKES = (
    mistake(
        id="sdpa_backward.keys_and_values_exchanged",
        clause="sdpa_backward.grad_key",
        sentence="The gradients of keys and values were exchanged.",
        engineer="dK and dV are returned in each other's place.",
        remedy="Return the gradients in the order query, key, value.",
        function=exchanging("grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.queries_and_keys_exchanged",
        clause="sdpa_backward.grad_query",
        sentence="The gradients of queries and keys were exchanged.",
        engineer="dQ and dK are returned in each other's place.",
        remedy="Return the gradients in the order query, key, value.",
        function=exchanging("grad_query", "grad_key"),
    ),
    mistake(
        id="sdpa_backward.scores_not_transposed",
        clause="sdpa_backward.grad_key",
        sentence="For keys and values, the rows of the scores were taken instead of their columns.",
        engineer="dK = dS Q and dV = P dO: the transposes are missing.",
        remedy="Sum over the queries of each key: multiply by the transposed matrices.",
        function=departure(scaled_dot_product_attention_backward, sum_for_keys=with_transposed),
    ),
    mistake(
        id="sdpa_backward.values_shared_evenly",
        clause="sdpa_backward.grad_value",
        sentence="Each value got the same share of the gradient of the output, whatever its weight.",
        engineer="dV is made with a uniform P.",
        remedy="Multiply the gradient of each query's output by the weight of the key.",
        function=even_values,
    ),
    mistake(
        id="sdpa_backward.gradient_taken_as_ones",
        clause="sdpa_backward.grad_weights",
        sentence="The gradient of the output was not read: the gradients are those of the sum of the output.",
        engineer="dO is assumed to be all ones, as in a test that calls sum().backward().",
        remedy="Use the gradient of the output that is given.",
        function=of_sum_of_output,
    ),
    mistake(
        id="sdpa_backward.value_features_cut",
        clause="sdpa_backward.grad_weights",
        sentence="Of values wider than the keys, only as many features were heard as a key has.",
        engineer="dP = dO V^T runs over head_dim_qk instead of head_dim_v.",
        remedy="Take the product over all features of the values.",
        function=of_key_width,
        source="https://github.com/XunhaoLai/native-sparse-attention-triton/issues/27",
    ),
    mistake(
        id="sdpa_backward.last_value_feature_dropped",
        clause="sdpa_backward.grad_weights",
        sentence="The last feature of the values was left out where their number is odd.",
        engineer="dP = dO V^T reads two features at a time and drops what is left over.",
        remedy="Take the product over all features of the values.",
        function=departure(scaled_dot_product_attention_backward, score_every_key=of_pairs),
    ),
    mistake(
        id="sdpa_backward.values_as_wide_as_keys",
        clause="sdpa_backward.grad_value",
        sentence="The gradient of the values has as many features as a key.",
        engineer="dV is allocated like K instead of like V.",
        remedy="Give the gradient of the values the shape of the values.",
        function=changing(grad_value=value_gradient_as_wide_as_keys),
    ),
    mistake(
        id="sdpa_backward.values_beyond_key_width",
        clause="sdpa_backward.grad_value",
        sentence="The gradient of the values is 0 in the features that a key does not have.",
        engineer="The store of dV is masked by head_dim_qk instead of head_dim_v.",
        remedy="Write all features of the gradient of the values.",
        function=changing(grad_value=beyond_key_width_zero),
    ),
    mistake(
        id="sdpa_backward.keys_beyond_value_width",
        clause="sdpa_backward.grad_key",
        sentence="The gradients of queries and keys are 0 in the features that a value does not have.",
        engineer="The stores of dQ and dK are masked by head_dim_v instead of head_dim_qk.",
        remedy="Write all features of the gradients of queries and keys.",
        function=changing(grad_query=beyond_value_width_zero, grad_key=beyond_value_width_zero),
    ),
    mistake(
        id="sdpa_backward.query_axes_exchanged",
        clause="sdpa_backward.grad_query",
        sentence="Heads and tokens of the gradient of the queries changed places.",
        engineer="dQ is written as (B, Sq, Hq, E) into a (B, Hq, Sq, E) buffer.",
        remedy="Write the gradient in the order of axes that the query has.",
        function=changing(grad_query=tokens_before_heads),
    ),
    mistake(
        id="sdpa_backward.key_axes_exchanged",
        clause="sdpa_backward.grad_key",
        sentence="Heads and tokens of the gradients of keys and values changed places.",
        engineer="dK and dV are written as (B, Sk, Hkv, E) into (B, Hkv, Sk, E) buffers.",
        remedy="Write the gradients in the order of axes that keys and values have.",
        function=changing(grad_key=tokens_before_heads, grad_value=tokens_before_heads),
    ),
    mistake(
        id="sdpa_backward.queries_halved",
        clause="sdpa_backward.grad_query",
        sentence="The gradient of the queries is half of what is owed.",
        engineer="dQ is the mean of two partial sums instead of their sum.",
        remedy="Add what the keys give, and divide by nothing.",
        function=changing(grad_query=halved),
    ),
    mistake(
        id="sdpa_backward.averaged_over_batch",
        clause="sdpa_backward.grad_value",
        sentence="All gradients were divided by the number of batch entries.",
        engineer="The batch mean of the loss is applied inside the backward pass.",
        remedy="Leave the gradient of the output as it is: its loss has averaged already.",
        function=changing(grad_query=of_mean_loss, grad_key=of_mean_loss, grad_value=of_mean_loss),
    ),
)
"""In the order of the page."""
