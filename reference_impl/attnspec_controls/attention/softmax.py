"""Other ways to a softmax, to causal masks, and to split and combined heads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, named_output, patch
from attnspec_reference.attention.softmax import largest, softmax

if TYPE_CHECKING:
    from attnspec_reference.precision import Array


def by_logarithm(*, x: Any, axis: int | None = -1) -> Array:
    """Subtract the logarithm of the denominator, then take the exponential."""
    distances = x - largest(x, axis)
    return np.exp(distances - np.log(np.sum(np.exp(distances), axis=axis, keepdims=True)))


def by_powers_of_two(*, x: Any, axis: int | None = -1) -> Array:
    """Take powers of two instead of e."""
    exponentials = np.exp2((x - largest(x, axis)) * math.log2(math.e))
    return exponentials / np.sum(exponentials, axis=axis, keepdims=True)


def divided_by_sum_in_order(exponentials: Array, axis: int | None) -> Array:
    """Add the exponentials one after the other."""
    if axis is None:
        return exponentials / np.cumsum(exponentials)[-1]
    # cumsum never regroups: each partial sum is the one before plus one number.
    return exponentials / np.take(np.cumsum(exponentials, axis=axis), [-1], axis=axis)


def online(*, x: Any, axis: int | None = -1) -> Array:
    """Go through the numbers once, and correct the sum so far whenever a larger number comes."""
    numbers = np.moveaxis(x, axis, -1) if axis is not None else x.reshape(-1)
    most = np.full((*numbers.shape[:-1], 1), -np.inf, dtype=x.dtype)
    total = np.zeros_like(most)
    for index in range(numbers.shape[-1]):
        number = numbers[..., index : index + 1]
        larger = np.maximum(most, number)
        # As long as all were minus infinity, none has any weight.
        base = np.where(np.isneginf(larger), 0, larger)
        total = total * np.exp(most - base) + np.exp(number - base)
        most = larger
    weights = np.exp(numbers - most) / total
    return np.moveaxis(weights, -1, axis) if axis is not None else weights.reshape(x.shape)


def triangle(*, query_length: int, key_length: int | None = None, offset: int = 0, additive: bool = False) -> Array:
    """Draw the triangle that the diagonal closes."""
    mask = np.tri(query_length, query_length if key_length is None else key_length, offset, dtype=np.bool_)
    if not additive:
        return mask
    numbers = np.zeros(mask.shape)
    numbers[~mask] = -np.inf
    return numbers


def sliced(*, x: Any, num_heads: int) -> Array:
    """Cut the slices one by one, as equal parts, and stack them."""
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def concatenated(*, x: Any) -> Array:
    """Lay the heads side by side, one by one."""
    return np.concatenate([x[:, head] for head in range(np.shape(x)[1])], axis=-1)


CONTROLS: tuple[Control, ...] = (
    Control(
        id="softmax.by_logarithm",
        operation="softmax",
        sentence="The logarithm of the denominator is subtracted before the exponential.",
        function=in_working_precision(by_logarithm),
    ),
    Control(
        id="softmax.by_powers_of_two",
        operation="softmax",
        sentence="The exponentials are powers of two.",
        function=in_working_precision(by_powers_of_two),
    ),
    Control(
        id="softmax.sum_in_order",
        operation="softmax",
        sentence="The exponentials are added strictly one after the other.",
        function=named_output(patch(softmax, divide_by_sum=divided_by_sum_in_order)),
    ),
    Control(
        id="softmax.online",
        operation="softmax",
        sentence="Maximum and sum are found in one pass, which corrects the sum for each larger number.",
        function=in_working_precision(online),
    ),
    Control(
        id="causal_mask.triangle",
        operation="causal_mask",
        sentence="The mask is drawn as a lower triangle.",
        function=named_output(triangle),
    ),
    Control(
        id="split_heads.sliced",
        operation="split_heads",
        sentence="The heads are sliced one by one and stacked.",
        function=named_output(sliced),
    ),
    Control(
        id="combine_heads.concatenated",
        operation="combine_heads",
        sentence="The heads are concatenated one by one.",
        function=named_output(concatenated),
    ),
)
