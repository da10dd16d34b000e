"""What goes wrong with the scale of attention on the way back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import changing, in_some, mistake, repeating
from attnspec_mistakes.departures import altered, departure
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array


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


def default_always(_scale: float | None, width: int) -> float:
    """Take the default, whatever is stated."""
    return applied_scale(None, width)


def default_for_zero(scale: float | None, width: int) -> float:
    """Take a scale of 0 for no scale."""
    return applied_scale(scale or None, width)


def magnitude(scale: float | None, width: int) -> float:
    """Leave the sign of the scale out."""
    return abs(applied_scale(scale, width))


def in_base_two(scale: float | None, width: int) -> float:
    """Take the scale that a kernel multiplies its exponents of two by."""
    return applied_scale(scale, width) * math.log2(math.e)


def scaled_by(factor: Any) -> Backward:
    """Make a backward pass whose gradients are multiplied by another factor; the weights are right."""
    return departure(scaled_dot_product_attention_backward, applied_scale=factor)


def from_value_width(**arguments: Any) -> AttentionGradients:
    """Take the default scale from the width of the values."""
    width = max(np.shape(arguments["value"])[-1], 1)

    def factor(scale: float | None, _width: int) -> float:
        return applied_scale(scale, width)

    return scaled_by(factor)(**arguments)


MISTAKES = (
    mistake(
        id="sdpa_backward.scale_missing",
        clause="sdpa_backward.scale.default",
        sentence="The gradients of queries and keys were not scaled.",
        engineer="dQ and dK lack the softmax scale: dS is the gradient of the scaled scores.",
        remedy="Multiply the gradients of queries and keys by the scale.",
        function=scaled_by(one),
    ),
    mistake(
        id="sdpa_backward.scale_missing_for_queries",
        clause="sdpa_backward.grad_query",
        sentence="The gradient of the queries was not scaled; that of the keys was.",
        engineer="dQ lacks the softmax scale.",
        remedy="Multiply the gradient of the queries by the scale, too.",
        function=in_some(scaled_by(one), "grad_query"),
    ),
    mistake(
        id="sdpa_backward.scale_missing_for_keys",
        clause="sdpa_backward.grad_key",
        sentence="The gradient of the keys was not scaled; that of the queries was.",
        engineer="dK lacks the softmax scale.",
        remedy="Multiply the gradient of the keys by the scale, too.",
        function=in_some(scaled_by(one), "grad_key"),
    ),
    mistake(
        id="sdpa_backward.scale_twice",
        clause="sdpa_backward.scale.default",
        sentence="The gradients of queries and keys were scaled twice.",
        engineer="dS is scaled, and dQ and dK once more at the end.",
        remedy="Multiply by the scale once.",
        function=changing(grad_query=scaled_again, grad_key=scaled_again),
    ),
    mistake(
        id="sdpa_backward.scale_twice_for_keys",
        clause="sdpa_backward.grad_key",
        sentence="The gradient of the keys was scaled twice.",
        engineer="dK is made with queries that are scaled already, and scaled at the end.",
        remedy="Multiply unscaled queries by the gradients of the scores, and scale once.",
        function=changing(grad_key=scaled_again),
    ),
    mistake(
        id="sdpa_backward.scale_twice_for_queries",
        clause="sdpa_backward.grad_query",
        sentence="The gradient of the queries was scaled twice.",
        engineer="dQ is scaled in every tile and in the epilogue.",
        remedy="Multiply the gradient of the queries by the scale once.",
        function=changing(grad_query=scaled_again),
    ),
    mistake(
        id="sdpa_backward.scale_divided",
        clause="sdpa_backward.scale.explicit",
        sentence="The gradients of queries and keys were divided by the scale instead of multiplied by it.",
        engineer="The backward pass undoes the scale instead of applying it.",
        remedy="Multiply by the scale.",
        function=scaled_by(inverted),
    ),
    mistake(
        id="sdpa_backward.stated_scale_ignored",
        clause="sdpa_backward.scale.explicit",
        sentence="The stated scale went into the scores, but the gradients were multiplied by the default one.",
        engineer="The scale argument does not reach the backward kernel's epilogue.",
        remedy="Multiply the gradients of queries and keys by the scale that the forward pass used.",
        function=scaled_by(default_always),
    ),
    mistake(
        id="sdpa_backward.scale_ignored_in_weights",
        clause="sdpa_backward.scale.explicit",
        sentence="The weights were found anew with the default scale, though another one is stated.",
        engineer="The backward kernel recomputes P with 1/sqrt(d) instead of the scale of the forward pass.",
        remedy="Find the weights anew with the stated scale.",
        function=repeating(lambda _: {"scale": None}),
    ),
    mistake(
        id="sdpa_backward.zero_scale_as_default",
        clause="sdpa_backward.scale.zero",
        sentence="A scale of 0 was taken for no scale: queries and keys got gradients.",
        engineer="The scale is defaulted by truth value (scale or default) in the backward pass.",
        remedy="Test whether a scale is given, not whether it is true: under 0 these gradients are 0.",
        function=scaled_by(default_for_zero),
    ),
    mistake(
        id="sdpa_backward.scale_without_sign",
        clause="sdpa_backward.scale.explicit",
        sentence="The sign of a negative scale was left out of the gradients.",
        engineer="The backward pass takes sqrt(scale) of both operands, or its absolute value.",
        remedy="Multiply the gradients of queries and keys by the scale as it is.",
        function=scaled_by(magnitude),
    ),
    mistake(
        id="sdpa_backward.scale_in_base_two",
        clause="sdpa_backward.scale.default",
        sentence="The gradients of queries and keys are too large by 1.4427, the logarithm of e to the base 2.",
        engineer="The epilogue uses softmax_scale_log2 instead of softmax_scale.",
        remedy="Multiply by the scale itself; log2(e) belongs to the exponents alone.",
        function=scaled_by(in_base_two),
    ),
    mistake(
        id="sdpa_backward.scale_from_value_width",
        clause="sdpa_backward.scale.default",
        sentence="The scale of the gradients was taken from the width of the values instead of query and key.",
        engineer="The default scale of the backward pass is derived from head_dim_v.",
        remedy="Take the scale from the last axis of query: 1/sqrt(E).",
        function=from_value_width,
    ),
    mistake(
        id="sdpa_backward.values_scaled",
        clause="sdpa_backward.grad_value",
        sentence="The gradient of the values was multiplied by the scale.",
        engineer="The epilogue scales dV along with dK.",
        remedy="Leave the gradient of the values unscaled.",
        function=changing(grad_value=scaled_again),
    ),
    mistake(
        id="sdpa_backward.mask_scaled",
        clause="sdpa_backward.grad_mask",
        sentence="The gradient of the mask was multiplied by the scale.",
        engineer="The bias gradient is taken from dS after the scale is folded in.",
        remedy="Take the gradient of the mask from the gradients of the logits, unscaled.",
        function=changing(grad_mask=scaled_again),
    ),
    mistake(
        id="sdpa_backward.scores_scaled",
        clause="sdpa_backward.grad_scores",
        sentence="The gradients of the scores hold the scale: they are those of the dot products.",
        engineer="The returned dS is multiplied by the softmax scale already.",
        remedy="Return the gradients of the scaled scores, and scale the gradients of queries and keys.",
        function=changing(grad_scores=scaled_again),
    ),
    mistake(
        id="sdpa_backward.negative_scale_as_positive",
        clause="sdpa_backward.scale.explicit",
        sentence="The sign of a negative scale was dropped throughout.",
        engineer="The scale goes through abs before the backward pass.",
        remedy="Use the scale as it is, in the weights and in the gradients.",
        function=altered(scaled_dot_product_attention_backward, scale=abs),
    ),
)
