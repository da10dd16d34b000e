"""Attention and its backward pass but for one step: swapped, given something else, or wrong in some gradients alone.

A backward pass is mostly two or three kernels, each of which finds the weights anew. What is right in one of them may
be wrong in another.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from attnspec_mistakes.departures import altered, departure
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_reference.precision import Array

    Backward = Callable[..., AttentionGradients]


def attention_with(**steps: object) -> Callable[..., Attention]:
    """Make an attention with some of the reference's steps replaced."""
    return departure(scaled_dot_product_attention, **steps)


def attention_given(**changes: Callable[[Any], Any]) -> Callable[..., Attention]:
    """Make an attention that gets some of its arguments changed, each where it is given."""
    return altered(scaled_dot_product_attention, **changes)


def backward_with(**steps: object) -> Backward:
    """Make a backward pass with some of the reference's steps replaced."""
    return departure(scaled_dot_product_attention_backward, **steps)


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
