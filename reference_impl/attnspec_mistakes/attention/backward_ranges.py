"""What goes wrong at the ends of a range: a largest logit that is none, overflows and sums in half precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import mistake
from attnspec_mistakes.attention.backward_masks import replaying
from attnspec_mistakes.attention.backward_memory import added_in_dtype
from attnspec_mistakes.departures import departure
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.attention_gradients import sum_for_keys, sum_for_queries, sum_to_mask
from attnspec_reference.attention.attention_logits import add_distance_bias, cap_scores
from attnspec_reference.attention.attention_softmax import largest_logit
from attnspec_reference.attention.phases import score_every_key
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.precision import result_dtype, round_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans

_HALF = np.dtype(np.float16).itemsize


def smallest_logit(logits: Array) -> Array:
    """Find the smallest logit of each row that is attended; minus infinity where there is none."""
    least = np.where(logits == -np.inf, np.inf, logits).min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(least == np.inf, -np.inf, least)


def largest_before_scale(**arguments: Any) -> AttentionGradients:
    """Subtract the largest product times the scale, which a scale below 0 makes the smallest score."""
    if (arguments.get("scale") or 0) >= 0:
        return scaled_dot_product_attention_backward(**arguments)
    return replaying(largest_logit=smallest_logit)(**arguments)


def largest_before(step: str, inner: Callable[..., Array]) -> Backward:
    """Make a backward pass that subtracts the largest of what goes into a step, not of what comes out at the end."""

    def computed(**arguments: Any) -> AttentionGradients:
        found: list[Array] = []

        def noticed(scores: Array, *rest: Any) -> Array:
            found.append(scores)
            return inner(scores, *rest)

        def largest(terms: Array) -> Array:
            scores = found[-1]
            keys = scores.shape[-1]
            of_keys = np.where(terms[..., :keys] == -np.inf, -np.inf, scores)
            return largest_logit(np.concatenate([of_keys, terms[..., keys:]], axis=-1))

        return replaying(**{step: noticed, "largest_logit": largest})(**arguments)

    return computed


def in_half(steps: Callable[[Any], dict[str, Any]]) -> Backward:
    """Make a backward pass that does some steps in the dtype of the inputs where that is half precision."""

    def computed(**arguments: Any) -> AttentionGradients:
        dtype = result_dtype(arguments["query"])
        if dtype.itemsize > _HALF:
            return scaled_dot_product_attention_backward(**arguments)
        return departure(scaled_dot_product_attention_backward, **steps(dtype))(**arguments)

    return computed


def stored(array: Array, dtype: Any) -> Array:
    """Store in a dtype, and read again."""
    return round_to(dtype, array).astype(array.dtype)


def weights_stored(dtype: Any) -> dict[str, Any]:
    """Store the gradients of the weights."""

    def product(grad_output: Array, value: Array) -> Array:
        return stored(score_every_key(grad_output, value), dtype)

    return {"score_every_key": product}


def sums_stored(dtype: Any) -> dict[str, Any]:
    """Store the sums over queries and keys before they are scaled."""

    def for_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        return stored(sum_for_queries(grad_scores, key, attendable), dtype)

    def for_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        return stored(sum_for_keys(of_scores, of_queries, attendable), dtype)

    return {"sum_for_queries": for_queries, "sum_for_keys": for_keys}


def queries_added(dtype: Any) -> dict[str, Any]:
    """Add what the keys give to a query one after the other."""

    def sums(grad_scores: Array, key: Array, _attendable: Booleans) -> Array:
        return added_in_dtype(grad_scores.swapaxes(-1, -2), key, dtype)

    return {"sum_for_queries": sums}


def added(terms: Array, dtype: Any) -> Array:
    """Add along the last axis, one after the other."""
    ones = np.ones((terms.shape[-1], 1))
    return added_in_dtype(terms[..., np.newaxis], ones, dtype)[..., 0, 0]


def sinks_added(dtype: Any) -> dict[str, Any]:
    """Add what the queries give to a sink."""

    def gradient(sinks: Array | None, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array | None:
        if sinks is None:
            return None
        of_each = -np.where(answered, np.exp(sinks[:, np.newaxis] - logsumexp) * subtracted, 0)
        return added(np.moveaxis(of_each, 0, 1).reshape(len(sinks), -1), dtype)

    return {"gradient_of_sinks": gradient}


def masks_added(dtype: Any) -> dict[str, Any]:
    """Add what the queries give to the row of a mask that they share."""

    def gradient(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
        if mask is None or np.shape(mask)[-2] != 1:
            return sum_to_mask(grad_logits, mask)
        of_rows = added(np.swapaxes(grad_logits, -1, -2), dtype)
        return sum_to_mask(of_rows[..., np.newaxis, :], mask)

    return {"sum_to_mask": gradient}


def softmax_in_half(**arguments: Any) -> AttentionGradients:
    """Add the exponentials of a row one after the other, in half precision."""
    dtype = result_dtype(arguments["query"])
    if dtype.itemsize > _HALF:
        return scaled_dot_product_attention_backward(**arguments)

    def total(exponentials: Array) -> Array:
        return added(exponentials, dtype)[..., np.newaxis]

    return replaying(sum_over_keys=total)(**arguments)


MISTAKES = (
    mistake(
        id="sdpa_backward.largest_before_scale",
        clause="sdpa_backward.softmax.stability",
        sentence="The largest product was subtracted once scaled, which with a scale below 0 is the smallest score.",
        engineer="The row maximum is taken of Q K^T and multiplied by the scale afterwards.",
        remedy="Find the largest of the logits, after the scale.",
        function=largest_before_scale,
    ),
    mistake(
        id="sdpa_backward.largest_before_cap",
        clause="sdpa_backward.softmax.stability",
        sentence="The largest score was subtracted, though the softcap brings the logits far below it.",
        engineer="The row maximum is taken before the softcap.",
        remedy="Find the largest of the logits, after the softcap.",
        function=largest_before("cap_scores", cap_scores),
    ),
    mistake(
        id="sdpa_backward.largest_before_bias",
        clause="sdpa_backward.softmax.stability",
        sentence="The largest capped score was subtracted, though ALiBi and mask move the logits far from it.",
        engineer="The row maximum is taken before the bias is added.",
        remedy="Find the largest of the logits, after ALiBi and mask.",
        function=largest_before("add_distance_bias", add_distance_bias),
    ),
    mistake(
        id="sdpa_backward.weights_stored_in_half_precision",
        clause="sdpa_backward.precision.accumulation",
        sentence="Gradients of weights were stored in float16, in which large ones are infinite.",
        engineer="dP = dO V^T is stored in the input dtype and overflows.",
        remedy="Keep the gradients of the weights in float32.",
        function=in_half(weights_stored),
        shows_in=("float16",),
    ),
    mistake(
        id="sdpa_backward.sums_scaled_too_late",
        clause="sdpa_backward.precision.accumulation",
        sentence="The gradients of queries and keys were stored in float16 before they were scaled, and overflowed.",
        engineer="dQ and dK are cast to the input dtype before the multiplication by the scale.",
        remedy="Scale in float32, and round once at the end.",
        function=in_half(sums_stored),
        shows_in=("float16",),
    ),
    *(
        mistake(
            id=f"sdpa_backward.{name}_summed_in_half_precision",
            clause="sdpa_backward.precision.accumulation",
            sentence=sentence,
            engineer=f"{what} accumulates in the input dtype instead of fp32.",
            remedy="Keep the sums in float32, and round once at the end.",
            function=function,
            # In bfloat16, who rounds the gradients of scores may lose as much as this.
            shows_in=("float16", "bfloat16") if name == "softmax" else ("float16",),
        )
        for name, what, sentence, function in (
            ("queries", "dQ", "What the keys give to a query was summed in half precision.", in_half(queries_added)),
            ("sinks", "dSink", "What the queries give to a sink was summed in half precision.", in_half(sinks_added)),
            ("masks", "dBias", "What the queries give to a mask was summed in half precision.", in_half(masks_added)),
            ("softmax", "The row sum", "The softmax was summed in half precision.", softmax_in_half),
        )
    ),
    widened_through_float16(
        "sdpa_backward",
        "scaled_dot_product_attention_backward",
        "sdpa_backward.precision.accumulation",
        departure(scaled_dot_product_attention_backward, widen=through_float16),
    ),
)
"""In the order of the steps."""
