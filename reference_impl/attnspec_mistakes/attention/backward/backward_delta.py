"""What goes wrong behind the softmax of the backward pass: delta, softcap, scale."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import Backward, backward_with, changing, in_some, repeating
from attnspec_mistakes.mistake import Making, of_sizes
from attnspec_mistakes.patches import Computation, altered, in_working_precision
from attnspec_reference.attention.phases import applied_scale, score_every_key
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    gradient_of_cap,
    gradient_of_softmax,
    scaled_dot_product_attention_backward,
    sum_attended,
    sum_to_mask,
)
from attnspec_reference.precision import Array, Booleans, result_dtype, widen


def subtracting(change: Callable[[Array], Array]) -> Backward:
    """Make a backward pass that subtracts something else than delta less the gradient of the logsumexp."""
    return backward_with(
        gradient_of_softmax=lambda weights, grad_weights, subtracted, attendable: gradient_of_softmax(
            weights, grad_weights, change(subtracted), attendable
        )
    )


def without_subtracting(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
    """Multiply each weight by its gradient."""
    return np.where(attendable, weights * grad_weights, 0)


def without_weights(_weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Leave the weight out, by which the difference is multiplied."""
    return np.where(attendable, grad_weights - subtracted[..., np.newaxis], 0)


def of_each_on_its_own(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
    """Take the derivative of the logistic function: each weight moves with its own logit alone."""
    return np.where(attendable, weights * (1 - weights) * grad_weights, 0)


def over_queries(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
    """Subtract the mean over the queries of each key instead of the mean over the keys of each query."""
    delta = np.where(attendable, weights * grad_weights, 0).sum(axis=-2, keepdims=True)
    return np.where(attendable, weights * (grad_weights - delta), 0)


def by_tiles(tile: int) -> Backward:
    """Make a backward pass that subtracts the delta of each tile of keys in it."""

    def gradient(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
        parts: list[Array] = []
        for start in range(0, weights.shape[-1], tile):
            part = slice(start, start + tile)
            delta = sum_attended(weights[..., part] * grad_weights[..., part], attendable[..., part])
            parts.append(gradient_of_softmax(weights[..., part], grad_weights[..., part], delta, attendable[..., part]))
        return np.concatenate(parts, axis=-1) if parts else weights

    return backward_with(gradient_of_softmax=gradient)


def of_features(count: Callable[[int, int], int]) -> Backward:
    """Make a backward pass that takes the product of output and its gradient over some features alone."""

    def computed(**arguments: Any) -> AttentionGradients:
        output = arguments.get("output")
        if output is None:
            return scaled_dot_product_attention_backward(**arguments)
        features = count(np.shape(arguments["query"])[-1], np.shape(output)[-1])
        kept: Booleans = np.less(np.arange(int(np.shape(output)[-1])), features)
        arguments["output"] = np.where(kept, output, 0).astype(result_dtype(output))
        return scaled_dot_product_attention_backward(**arguments)

    return computed


def output_as_its_gradient(**arguments: Any) -> AttentionGradients:
    """Take the square of the stored output."""
    output = arguments.get("output")
    if output is None:
        return scaled_dot_product_attention_backward(**arguments)
    widened = widen(output, result_dtype(output))
    squares = (widened * widened).sum(axis=-1)
    return backward_with(
        gradient_of_softmax=lambda weights, grad_weights, _subtracted, attendable: gradient_of_softmax(
            weights, grad_weights, squares, attendable
        )
    )(**arguments)


def derived(derivative: Callable[[Array, float], Array]) -> Backward:
    """Make a backward pass that takes something else for the derivative of the cap."""

    def gradient(scores: Array, softcap: float | None, attendable: Booleans) -> Array | float:
        if not softcap:
            return 1.0
        return np.where(attendable, derivative(scores, float(softcap)), 1)

    return backward_with(gradient_of_cap=gradient)


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

    return backward_with(
        scaled_dot_product_attention=forward,
        gradient_of_cap=lambda _scores, _softcap, attendable: (
            np.where(attendable, 1 - (logits[-1] / float(softcap)) ** 2, 1) if softcap else 1.0
        ),
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


def factor_of(arguments: Mapping[str, Any]) -> float:
    """Return the scale of a call."""
    return applied_scale(arguments.get("scale"), np.shape(arguments["query"])[-1])


def scaled_again(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Multiply by the scale once more."""
    return gradient * factor_of(arguments)


def one(_scale: float | None, _width: int) -> float:
    """Leave the gradients unscaled."""
    return 1.0


def inverted(scale: float | None, width: int) -> float:
    """Divide by the scale."""
    factor = applied_scale(scale, width)
    return math.inf if factor == 0 else 1 / factor


def scaled_by(factor: Any) -> Backward:
    """Make a backward pass whose gradients are multiplied by another factor; the weights are right."""
    return backward_with(applied_scale=factor)


def from_value_width(**arguments: Any) -> AttentionGradients:
    """Take the default scale from the width of the values."""
    width = max(np.shape(arguments["value"])[-1], 1)
    return scaled_by(lambda scale, _width: applied_scale(scale, width))(**arguments)


def of_padded_width(multiple: int) -> Computation:
    """Make a backward pass alone take its scale from the width that features are filled up to."""

    @in_working_precision
    def computed(**arguments: Any) -> AttentionGradients:
        if arguments.get("scale") is not None:
            return scaled_dot_product_attention_backward(**arguments)
        forward = {name: given for name, given in arguments.items() if name not in OF_BACKWARD}
        attention = scaled_dot_product_attention(**forward)
        given: dict[str, Any] = {"output": attention.output, "logsumexp": attention.logsumexp}
        given |= {name: array for name, array in arguments.items() if array is not None}
        given["scale"] = applied_scale(None, -(-np.shape(arguments["query"])[-1] // multiple) * multiple)
        return scaled_dot_product_attention_backward(**given)

    return computed


OF_BACKWARD = ("grad_output", "output", "logsumexp", "grad_logsumexp")
"""What the backward pass takes and the forward pass does not."""

FUNCTIONS: Mapping[str, Making] = {
    "sdpa_backward.delta_dropped": backward_with(gradient_of_softmax=without_subtracting),
    "sdpa_backward.delta_added": subtracting(np.negative),
    "sdpa_backward.delta_halved": subtracting(lambda delta: delta / 2),
    "sdpa_backward.delta_divided_by_keys": backward_with(
        sum_attended=lambda products, attendable: sum_attended(products, attendable) / max(products.shape[-1], 1)
    ),
    "sdpa_backward.delta_over_queries": backward_with(gradient_of_softmax=over_queries),
    "sdpa_backward.delta_of_its_tile": of_sizes(by_tiles, 4, 2, 8, 16, 32, 64),
    "sdpa_backward.delta_of_first_head": subtracting(lambda delta: np.broadcast_to(delta[:, :1], delta.shape)),
    "sdpa_backward.delta_heads_for_tokens": subtracting(
        lambda delta: np.swapaxes(delta.reshape(delta.shape[0], delta.shape[2], delta.shape[1]), 1, 2)
    ),
    "sdpa_backward.delta_of_key_width": of_features(min),
    "sdpa_backward.delta_without_last_feature": of_features(lambda _, width: max(width // 2 * 2, 1)),
    "sdpa_backward.delta_of_output_squared": output_as_its_gradient,
    "sdpa_backward.weight_left_out": backward_with(gradient_of_softmax=without_weights),
    "sdpa_backward.softmax_as_sigmoid": backward_with(gradient_of_softmax=of_each_on_its_own),
    "sdpa_backward.delta_wrong_for_keys": in_some(backward_with(gradient_of_softmax=without_subtracting), "grad_key"),
    "sdpa_backward.gradient_without_sign": backward_with(
        score_every_key=lambda grad_output, value: score_every_key(np.abs(grad_output), value)
    ),
    "sdpa_backward.cap_derivative_missing": backward_with(gradient_of_cap=constant),
    "sdpa_backward.cap_derivative_missing_for_keys": in_some(backward_with(gradient_of_cap=constant), "grad_key"),
    "sdpa_backward.cap_derivative_not_squared": derived(lambda scores, cap: 1 - np.tanh(scores / cap)),
    "sdpa_backward.cap_derivative_times_cap": derived(lambda scores, cap: cap * (1 - np.tanh(scores / cap) ** 2)),
    "sdpa_backward.cap_derivative_over_cap": derived(lambda scores, cap: (1 - np.tanh(scores / cap) ** 2) / cap),
    "sdpa_backward.cap_derivative_of_capped": derived(lambda scores, cap: 1 - np.tanh(np.tanh(scores / cap)) ** 2),
    "sdpa_backward.cap_derivative_of_logits": at_logits,
    "sdpa_backward.cap_derivative_in_mask": mask_through_cap,
    "sdpa_backward.cap_ignored": repeating(lambda _: {"softcap": None}),
    "sdpa_backward.zero_cap_divides": backward_with(gradient_of_cap=off_divides),
    "sdpa_backward.scale_missing": scaled_by(one),
    "sdpa_backward.scale_missing_for_queries": in_some(scaled_by(one), "grad_query"),
    "sdpa_backward.scale_missing_for_keys": in_some(scaled_by(one), "grad_key"),
    "sdpa_backward.scale_twice": changing(grad_query=scaled_again, grad_key=scaled_again),
    "sdpa_backward.scale_twice_for_keys": changing(grad_key=scaled_again),
    "sdpa_backward.scale_twice_for_queries": changing(grad_query=scaled_again),
    "sdpa_backward.scale_divided": scaled_by(inverted),
    "sdpa_backward.stated_scale_ignored": scaled_by(lambda _scale, width: applied_scale(None, width)),
    "sdpa_backward.scale_ignored_in_weights": repeating(lambda _: {"scale": None}),
    "sdpa_backward.zero_scale_as_default": scaled_by(lambda scale, width: applied_scale(scale or None, width)),
    "sdpa_backward.scale_without_sign": scaled_by(lambda scale, width: abs(applied_scale(scale, width))),
    "sdpa_backward.scale_in_base_two": scaled_by(lambda scale, width: applied_scale(scale, width) * math.log2(math.e)),
    "sdpa_backward.scale_from_value_width": from_value_width,
    "sdpa_backward.scale_of_padded_width": of_sizes(of_padded_width, 16, 8, 32, 64, 128),
    "sdpa_backward.values_scaled": changing(grad_value=scaled_again),
    "sdpa_backward.mask_scaled": changing(grad_mask=scaled_again),
    "sdpa_backward.scores_scaled": changing(grad_scores=scaled_again),
    "sdpa_backward.negative_scale_as_positive": altered(scaled_dot_product_attention_backward, scale=abs),
}
