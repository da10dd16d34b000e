"""Attention and its backward pass but for one step: swapped, given something else, or wrong in some gradients alone.

A backward pass is mostly two or three kernels, each of which finds the weights anew. What is right in one of them may
be wrong in another. What knows of no quantized tensors gets products of numbers and scales in their stead.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.patches import altered, by_name, patch
from attnspec_reference.attention.attention_inputs import check_scale
from attnspec_reference.attention.attention_logits import dequantize, output_dtype_or_own
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.precision import round_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.patches import Computation, Outputs
    from attnspec_reference.precision import Array

    Backward = Callable[..., AttentionGradients]

TENSORS = ("query", "key", "value")
"""The tensors that may be quantized; a past is as its new tokens are."""


def attention_with(**steps: object) -> Callable[..., Attention]:
    """Make an attention with some of the reference's steps replaced."""
    return patch(scaled_dot_product_attention, **steps)


def attention_given(**changes: Callable[[Any], Any]) -> Callable[..., Attention]:
    """Make an attention that gets some of its arguments changed, each where it is given."""
    return altered(scaled_dot_product_attention, **changes)


def backward_with(**steps: object) -> Backward:
    """Make a backward pass with some of the reference's steps replaced."""
    return patch(scaled_dot_product_attention_backward, **steps)


def replaying(**steps: object) -> Backward:
    """Make a backward pass that repeats a forward pass with some of its steps replaced."""
    return backward_with(scaled_dot_product_attention=attention_with(**steps))


def repeating(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Backward:
    """Make a backward pass that repeats a forward pass with other arguments than those whose gradients it gives."""

    def forward(query: Array, key: Array, value: Array, mask: Any, **options: Any) -> Attention:
        given: dict[str, Any] = {"query": query, "key": key, "value": value, "mask": mask, **options}
        return scaled_dot_product_attention(**{**given, **change(given)})

    return backward_with(scaled_dot_product_attention=forward)


def in_some(departed: Backward, *names: str) -> Backward:
    """Make a backward pass that departs in some gradients alone, such as ``grad_key``; the others are right."""

    @wraps(scaled_dot_product_attention_backward)
    def computed(**arguments: Any) -> AttentionGradients:
        right = scaled_dot_product_attention_backward(**arguments)
        wrong = departed(**arguments)
        return right._replace(**{name: getattr(wrong, name) for name in names})

    return computed


def changing(**changes: Callable[[Array, Mapping[str, Any]], Array]) -> Backward:
    """Make a backward pass that changes gradients once they are right, each by a function of it and all arguments."""

    @wraps(scaled_dot_product_attention_backward)
    def computed(**arguments: Any) -> AttentionGradients:
        gradients = scaled_dot_product_attention_backward(**arguments)
        found = {name: getattr(gradients, name) for name in changes}
        return gradients._replace(
            **{
                name: changes[name](array, arguments).astype(array.dtype)
                for name, array in found.items()
                if array is not None
            }
        )

    return computed


def tensors_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give the quantized tensors of a call, past ones included, by name."""
    return {
        name: arguments[name]
        for kind in TENSORS
        if arguments.get(f"{kind}_scale") is not None
        for name in (kind, f"past_{kind}")
        if arguments.get(name) is not None
    }


def check_scales(arguments: Mapping[str, Any]) -> None:
    """Refuse scales that do not fit the keys: once they are products, nobody sees it."""
    batch, shared = np.shape(arguments["key"])[:2]
    for kind in TENSORS:
        check_scale(f"{kind}_scale", arguments.get(f"{kind}_scale"), batch, shared)


def of_products(function: Computation) -> Computation:
    """Make a computation for tensors that are as wide as their results one for quantized tensors, too.

    What it is about happens to the products: it gets them in the dtype to compute in, and no scales.
    """

    @wraps(function)
    def computation(**arguments: Any) -> Outputs:
        scales = {kind: arguments.pop(f"{kind}_scale", None) for kind in TENSORS}
        given = {**arguments, **{f"{kind}_scale": scale for kind, scale in scales.items() if scale is not None}}
        numbers = tensors_of(given)
        if not numbers:
            return function(**given)
        check_scales(given)
        stated = arguments.pop("output_dtype", None)
        dtype = output_dtype_or_own(arguments["query"], stated)
        for name, array in numbers.items():
            arguments[name] = dequantize(np.asarray(array), scales[name.removeprefix("past_")], dtype)
        outputs = by_name(function(**arguments))
        return {name: round_to(dtype, np.asarray(array)) for name, array in outputs.items()}

    return computation
