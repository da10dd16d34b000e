"""What goes wrong with the cap of the scores on the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import in_some, mistake, repeating
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import gradient_of_cap, sum_to_mask
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans


def derived(derivative: Callable[[Array, float], Array]) -> Backward:
    """Make a backward pass that takes something else for the derivative of the cap."""

    def gradient(scores: Array, softcap: float | None, attendable: Booleans) -> Array | float:
        if not softcap:
            return 1.0
        return np.where(attendable, derivative(scores, float(softcap)), 1)

    return departure(scaled_dot_product_attention_backward, gradient_of_cap=gradient)


def constant(_scores: Array, _softcap: float | None, _attendable: Booleans) -> float:
    """Take the derivative for 1."""
    return 1.0


def at_logits(**arguments: Any) -> AttentionGradients:
    """Take the derivative from the logits over the cap, which hold mask and ALiBi beside the capped scores."""
    softcap = arguments.get("softcap")
    logits: list[Array] = []

    def forward(*positional: Any, **options: Any) -> Any:
        attention = scaled_dot_product_attention(*positional, **options)
        logits.append(attention.logits)
        return attention

    def gradient(_scores: Array, _softcap: float | None, attendable: Booleans) -> Array | float:
        return np.where(attendable, 1 - (logits[-1] / float(softcap)) ** 2, 1) if softcap else 1.0

    return departure(
        scaled_dot_product_attention_backward, scaled_dot_product_attention=forward, gradient_of_cap=gradient
    )(**arguments)


def mask_through_cap(**arguments: Any) -> AttentionGradients:
    """Multiply the gradient of the mask by the derivative of the cap, as that of the scores."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    if gradients.grad_mask is None:
        return gradients
    through = sum_to_mask(gradients.grad_scores, arguments["mask"])
    return gradients._replace(grad_mask=through)


def off_divides(scores: Array, softcap: float | None, attendable: Booleans) -> Array | float:
    """Take a cap of 0 for a cap, and divide by it."""
    if softcap is None or softcap > 0:
        return gradient_of_cap(scores, softcap, attendable)
    return np.where(attendable, 1 - np.tanh(scores / np.zeros_like(scores)) ** 2, 1)


MISTAKES = (
    mistake(
        id="sdpa_backward.cap_derivative_missing",
        clause="sdpa_backward.softcap",
        sentence="The scores were capped, but the gradients were not multiplied by the derivative of the cap.",
        engineer="dS lacks the factor 1 - tanh(s / cap)^2.",
        remedy="Multiply the gradients of the logits by 1 - tanh(s / c) squared.",
        function=departure(scaled_dot_product_attention_backward, gradient_of_cap=constant),
    ),
    mistake(
        id="sdpa_backward.cap_derivative_missing_for_keys",
        clause="sdpa_backward.softcap",
        sentence="The derivative of the cap went into the gradient of the queries, and not into that of the keys.",
        engineer="The kernel for dK and dV lacks the factor 1 - tanh(s / cap)^2.",
        remedy="Use the same gradients of the scores for queries and for keys.",
        function=in_some(departure(scaled_dot_product_attention_backward, gradient_of_cap=constant), "grad_key"),
    ),
    mistake(
        id="sdpa_backward.cap_derivative_not_squared",
        clause="sdpa_backward.softcap",
        sentence="The derivative of the cap was taken as 1 - tanh, without the square.",
        engineer="The factor is 1 - tanh(s / cap) instead of 1 - tanh(s / cap)^2.",
        remedy="Square the tanh: the derivative is 1 - tanh(s / c) squared.",
        function=derived(lambda scores, cap: 1 - np.tanh(scores / cap)),
    ),
    mistake(
        id="sdpa_backward.cap_derivative_times_cap",
        clause="sdpa_backward.softcap",
        sentence="The derivative of the cap was multiplied by the cap.",
        engineer="The chain rule misses the 1 / cap inside tanh: cap * (1 - tanh(s / cap)^2).",
        remedy="Leave the cap out: the factor before tanh and the divisor inside it cancel.",
        function=derived(lambda scores, cap: cap * (1 - np.tanh(scores / cap) ** 2)),
    ),
    mistake(
        id="sdpa_backward.cap_derivative_over_cap",
        clause="sdpa_backward.softcap",
        sentence="The derivative of the cap was divided by the cap.",
        engineer="The chain rule misses the cap before tanh: (1 - tanh(s / cap)^2) / cap.",
        remedy="Leave the cap out: the factor before tanh and the divisor inside it cancel.",
        function=derived(lambda scores, cap: (1 - np.tanh(scores / cap) ** 2) / cap),
    ),
    mistake(
        id="sdpa_backward.cap_derivative_of_capped",
        clause="sdpa_backward.softcap",
        sentence="The derivative of the cap was taken at the capped score instead of the score.",
        engineer="tanh is applied again to the capped score: 1 - tanh(cap * tanh(s / cap) / cap)^2.",
        remedy="Take 1 - (capped score / c) squared, or 1 - tanh(s / c) squared of the score itself.",
        function=derived(lambda scores, cap: 1 - np.tanh(np.tanh(scores / cap)) ** 2),
    ),
    mistake(
        id="sdpa_backward.cap_derivative_of_logits",
        clause="sdpa_backward.softcap",
        sentence="The derivative of the cap was taken from logits to which mask or ALiBi had been added.",
        engineer="1 - (logit / cap)^2 reads the logit after the bias instead of the capped score.",
        remedy="Keep the capped score apart from the logit, and take the derivative from it.",
        function=at_logits,
    ),
    mistake(
        id="sdpa_backward.cap_derivative_in_mask",
        clause="sdpa_backward.grad_mask",
        sentence="The gradient of the mask was multiplied by the derivative of the cap.",
        engineer="The bias gradient is taken from dS behind the softcap, not before it.",
        remedy="Take the gradient of the mask from the gradients of the logits: it is added after the cap.",
        function=mask_through_cap,
    ),
    mistake(
        id="sdpa_backward.cap_ignored",
        clause="sdpa_backward.softcap",
        sentence="The weights were found anew from scores that were not capped.",
        engineer="The backward kernel recomputes P without the softcap.",
        remedy="Cap the scores when the weights are found anew.",
        function=repeating(lambda _: {"softcap": None}),
    ),
    mistake(
        id="sdpa_backward.zero_cap_divides",
        clause="sdpa_backward.softcap",
        sentence="A cap of 0, which is none, was divided by: the gradients vanish or are NaN.",
        engineer="The backward pass tests softcap is None where 0 means off, too.",
        remedy="Take a cap of 0 for none.",
        function=departure(scaled_dot_product_attention_backward, gradient_of_cap=off_divides),
    ),
)
