"""Other ways back through the softmax of attention: weights stored or found anew, delta from this or from that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.attention.backward_sums import control
from attnspec_mistakes.patches import by_name, ignoring, in_working_precision, patch
from attnspec_reference.attention.phases import applied_scale, largest_logit, score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.precision import result_dtype, round_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_controls.control import Control
    from attnspec_mistakes.patches import Outputs
    from attnspec_reference.precision import Array, Booleans

_OF_THE_BACKWARD = ("grad_output", "output", "logsumexp", "grad_logsumexp")


def forward_of(arguments: Mapping[str, Any]) -> Attention:
    """Run the forward pass of a call."""
    return scaled_dot_product_attention(
        **{name: value for name, value in arguments.items() if name not in _OF_THE_BACKWARD}
    )


def with_stored(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Add output and logsumexp of a forward pass where none are given."""
    forward = forward_of(arguments)
    return {
        **arguments,
        **{name: getattr(forward, name) for name in ("output", "logsumexp") if arguments.get(name) is None},
    }


@in_working_precision
def as_flash_attention(**arguments: Any) -> AttentionGradients:
    """Keep output and logsumexp of a forward pass, and nothing else."""
    return scaled_dot_product_attention_backward(**with_stored(arguments))


@in_working_precision
def delta_from_output(**arguments: Any) -> AttentionGradients:
    """Take delta from the output of a forward pass of its own, and leave what is given alone."""
    arguments["logsumexp"], arguments["output"] = None, forward_of(arguments).output
    return scaled_dot_product_attention_backward(**arguments)


def powers_of_two(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take powers of two, the logarithm of e folded into the exponent."""
    bits = np.where(attendable, logits - logsumexp[..., np.newaxis], -np.inf) * math.log2(math.e)
    return np.where(attendable, np.exp2(bits), 0)


@in_working_precision
def as_flash_attention_in_bits(**arguments: Any) -> AttentionGradients:
    """Keep output and logsumexp of a forward pass, and find the weights anew as powers of two."""
    return patch(scaled_dot_product_attention_backward, shares_of_keys=powers_of_two)(**with_stored(arguments))


def by_jacobian(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Multiply by the Jacobian of the softmax, a matrix for each query; what else is subtracted comes after."""
    grad_weights = np.where(attendable, grad_weights, 0)
    size = weights.shape[-1]
    jacobian = weights[..., np.newaxis] * (np.eye(size, dtype=weights.dtype) - weights[..., np.newaxis, :])
    through = (jacobian @ grad_weights[..., np.newaxis])[..., 0]
    delta = (weights * grad_weights).sum(axis=-1)
    return np.where(attendable, through + weights * (delta - subtracted)[..., np.newaxis], 0)


def cap_by_factors(scores: Array, softcap: float | None, attendable: Booleans) -> Array | float:
    """Take the derivative of tanh as a product of one less it and one more."""
    if not softcap:
        return 1.0
    bent = np.tanh(scores / float(softcap))
    return np.where(attendable, (1 - bent) * (1 + bent), 1)


def sinks_as_keys(sinks: Array | None, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array | None:
    """Take each sink for a key whose value is 0, and sum the gradients of its logits query by query."""
    if sinks is None:
        return None
    total = np.zeros(sinks.shape, dtype=sinks.dtype)
    for entry, query in np.ndindex(logsumexp.shape[0], logsumexp.shape[2]):
        share = np.exp(sinks - logsumexp[entry, :, query])
        of_query = share * (0 - subtracted[entry, :, query])
        total = total + np.where(np.broadcast_to(answered, logsumexp.shape)[entry, :, query], of_query, 0)
    return total


def in_double_precision(**arguments: Any) -> Outputs:
    """Compute every dtype in float64, and round the results once."""
    dtype = result_dtype(arguments["query"])
    widened = {
        name: value.astype(np.float64) if hasattr(value, "dtype") and value.dtype == dtype else value
        for name, value in arguments.items()
    }
    outputs = by_name(scaled_dot_product_attention_backward(**widened))
    return {name: round_to(dtype, output) for name, output in outputs.items()}


def expected_alone(**arguments: Any) -> Outputs:
    """Fold the gradient of the logsumexp into delta, and return neither it nor the gradients of the scores."""
    outputs = by_name(scaled_dot_product_attention_backward(**arguments))
    return {name: array for name, array in outputs.items() if name not in ("delta", "grad_scores")}


def unanswered_rows_left(**arguments: Any) -> AttentionGradients:
    """Leave whatever lies in memory in the rows of queries that do not count."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    lengths = arguments.get("query_lengths")
    if lengths is None:
        return gradients
    queries = int(gradients.grad_query.shape[2])
    rows: Booleans = np.greater_equal(np.arange(queries), np.reshape(lengths, (-1, 1, 1)))
    return gradients._replace(
        grad_query=np.where(rows[..., np.newaxis], np.asarray(7, gradients.grad_query.dtype), gradients.grad_query),
        delta=np.where(rows, np.asarray(7, gradients.delta.dtype), gradients.delta),
    )


@in_working_precision
def scale_folded(**arguments: Any) -> Outputs:
    """Multiply the queries by the scale first: the gradient of the keys is then scaled already."""
    query = arguments["query"]
    factor = applied_scale(arguments.get("scale"), query.shape[-1])
    arguments |= {"query": query * factor, "scale": 1.0}
    gradients = scaled_dot_product_attention_backward(**arguments)
    return by_name(gradients._replace(grad_query=gradients.grad_query * factor))


def rounded_between_phases(**arguments: Any) -> AttentionGradients:
    """Round weights and gradients of scores to the dtype of the inputs before each product, as who stores them does.

    What the dtype cannot hold stays wide: to let it overflow is a mistake.
    """
    dtype = result_dtype(arguments["query"])

    def rounded(array: Array) -> Array:
        stored = round_to(dtype, array).astype(array.dtype)
        return np.where(np.isfinite(array) & np.isinf(stored), array, stored)

    def for_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        return weigh_values(rounded(of_scores).swapaxes(-1, -2), of_queries, attendable.swapaxes(-1, -2))

    def for_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        return weigh_values(rounded(grad_scores), key, attendable)

    def product(grad_output: Array, value: Array) -> Array:
        return rounded(score_every_key(grad_output, value))

    return patch(
        scaled_dot_product_attention_backward,
        sum_for_keys=for_keys,
        sum_for_queries=for_queries,
        score_every_key=product,
    )(**arguments)


def weights_of_shifted(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Subtract the largest logit and the logsumexp one after the other."""
    largest = largest_logit(np.where(attendable, logits, -np.inf))
    shift = np.where(largest == -np.inf, 0, largest)
    return np.where(attendable, np.exp((logits - shift) - (logsumexp[..., np.newaxis] - shift)), 0)


CONTROLS: tuple[Control, ...] = (
    control(
        "weights_stored",
        "What the forward pass gave is left alone: the weights are those that it had.",
        ignoring(scaled_dot_product_attention_backward, "output", "logsumexp"),
    ),
    control(
        "as_flash_attention",
        "Output and logsumexp alone are kept of a forward pass; the weights are found anew from them.",
        as_flash_attention,
    ),
    control(
        "delta_from_output",
        "Delta is the product of the output and its gradient, also where no output is given.",
        delta_from_output,
    ),
    control(
        "delta_from_weights",
        "Delta is the sum of the gradients of the weights, each times its weight, also where an output is given.",
        ignoring(scaled_dot_product_attention_backward, "output"),
    ),
    control(
        "by_powers_of_two",
        "The weights are found anew as powers of two, with the logarithm of e folded into the exponents.",
        as_flash_attention_in_bits,
    ),
    control(
        "shifted_twice",
        "The weights are found anew with the largest logit taken from both the logit and the logsumexp.",
        patch(scaled_dot_product_attention_backward, shares_of_keys=weights_of_shifted),
    ),
    control(
        "by_jacobian",
        "The gradients of the weights are multiplied by the Jacobian of the softmax, a matrix for each query.",
        patch(scaled_dot_product_attention_backward, gradient_of_softmax=by_jacobian),
    ),
    control(
        "cap_by_factors",
        "The derivative of the cap is a product of two factors instead of one less a square.",
        patch(scaled_dot_product_attention_backward, gradient_of_cap=cap_by_factors),
    ),
    control(
        "sinks_as_keys",
        "A sink is differentiated as a key whose value is 0, query by query.",
        patch(scaled_dot_product_attention_backward, gradient_of_sinks=sinks_as_keys),
    ),
    control(
        "scale_folded",
        "The queries are scaled before anything else.",
        scale_folded,
    ),
    control(
        "in_double_precision",
        "Every dtype is computed in float64, and rounded once at the end.",
        in_double_precision,
    ),
    control(
        "rounded_between_phases",
        "Weights and gradients of scores are rounded before each product to the dtype of the inputs, if it holds them.",
        rounded_between_phases,
    ),
    control(
        "owed_alone",
        "Neither delta nor the gradients of the scores are returned.",
        expected_alone,
    ),
    control(
        "unanswered_rows_left",
        "The rows of queries that do not count hold whatever was there before.",
        unanswered_rows_left,
    ),
)
