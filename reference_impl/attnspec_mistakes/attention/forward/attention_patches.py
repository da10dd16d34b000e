"""Attention and its backward pass but for one step: swapped, given something else, or wrong in some gradients alone.

A backward pass is mostly two or three kernels, each of which finds the weights anew. What is right in one of them may
be wrong in another. What knows of no quantized tensors gets products of numbers and scales in their stead. In the
layouts of serving steps are swapped as in the contract's own.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.patches import Computation, Outputs, altered, by_name, patch
from attnspec_reference.attention.attention_inputs import check_scale
from attnspec_reference.attention.attention_logits import dequantize, output_dtype_or_own
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.attention.served_attention import (
    ServedAttention,
    alone,
    attend_to_pages,
    columns_of,
    paged_attention,
    paged_attention_by_list,
    read_in_order,
    tokens_first,
)
from attnspec_reference.precision import Array, Integers, result_dtype, round_to, widen, widen_if_given

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


def in_some(patched: Backward, *names: str) -> Backward:
    """Make a backward pass that is wrong in some gradients alone, such as ``grad_key``; the others are right."""

    @wraps(scaled_dot_product_attention_backward)
    def computed(**arguments: Any) -> AttentionGradients:
        right = scaled_dot_product_attention_backward(**arguments)
        wrong = patched(**arguments)
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


Positions = tuple["Integers", "Integers"]
"""Where the queries and the keys of one sequence stand."""


def by_table(function: Callable[..., Any]) -> Mapping[str, Computation]:
    """Make a mistake in both layouts with a table, from what it is with tokens first."""
    return in_both_orders("paged", function)


def by_list(function: Callable[..., Any]) -> Mapping[str, Computation]:
    """Make a mistake in both layouts with a list, from what it is with tokens first."""
    return in_both_orders("paged_csr", function)


def in_both_orders(layout: str, function: Callable[..., Any]) -> Mapping[str, Computation]:
    """Make a mistake in a layout and in that with heads first, from what it is with tokens first."""
    turned = altered(function, key_pool=tokens_first, value_pool=tokens_first)
    return {layout: function, f"{layout}_heads_first": turned}


def in_pages(**replaced: object) -> Mapping[str, Computation]:
    """Make a mistake in every paged layout, with steps of `attend_to_pages` replaced."""
    return reading_pages(patch(attend_to_pages, **replaced))


def reading_pages(attend: Callable[..., Any]) -> Mapping[str, Computation]:
    """Make a mistake in every paged layout, with another `attend_to_pages`."""
    return {
        **by_table(patch(paged_attention, attend_to_pages=attend)),
        **by_list(patch(paged_attention_by_list, attend_to_pages=attend)),
    }


def attend_at(query: Array, key: Array, value: Array, positions: Positions, **given: Any) -> Attention:
    """Let queries (1, Hq, N, E) attend to keys as if both stood at these positions, whatever the alignment."""
    named = ("causal_alignment", "mask", "alibi_slopes", "is_causal", "window")
    _, mask, alibi_slopes, is_causal, window = (given.pop(name, None) for name in named)
    of_queries, of_keys = positions
    ahead = of_keys - np.reshape(of_queries, (-1, 1))
    left, right = window or (None, None)
    attendable = np.ones(ahead.shape, dtype=np.bool_)
    for excluded in (
        *((ahead > 0,) if is_causal else ()),
        *((ahead < -left,) if left is not None else ()),
        *((ahead > right,) if right is not None else ()),
    ):
        attendable &= ~excluded
    bias: Array = np.where(attendable, 0.0, -np.inf)[np.newaxis]
    dtype = result_dtype(query)
    slopes = widen_if_given(alibi_slopes, dtype)
    if slopes is not None:
        bias = bias - slopes[:, np.newaxis, np.newaxis] * np.abs(ahead)
    if mask is not None:
        mask = np.asarray(mask)
        bias = np.where(mask, bias, -np.inf) if mask.dtype == np.bool_ else bias + widen(mask, dtype)
    return scaled_dot_product_attention(query, key, value, mask=bias, **given)


def placing(position: Callable[..., Positions]) -> Callable[..., ServedAttention]:
    """Make an `attend_to_pages` that positions queries and keys by a rule of its own.

    The rule has the pages of a sequence, the page size, the lengths of all sequences' queries and keys, the number of
    the sequence, and the alignment.
    """

    def attend(
        query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
    ) -> ServedAttention:
        batch, heads, tokens, _ = query.shape
        query_lengths, mask = others.pop("query_lengths", None), others.pop("mask", None)
        counted = [tokens] * batch if query_lengths is None else np.asarray(query_lengths).tolist()
        alignment = others.get("causal_alignment", "top_left")
        output = np.zeros((batch, heads, tokens, value_pool.shape[3]), dtype=result_dtype(query))
        logsumexp = np.full((batch, heads, tokens), -np.inf, dtype=result_dtype(query))
        for entry, (queries, keys) in enumerate(zip(counted, key_lengths, strict=True)):
            attention = attend_at(
                query[entry : entry + 1, :, :queries],
                alone(read_in_order(key_pool, pages[entry], keys)),
                alone(read_in_order(value_pool, pages[entry], keys)),
                position(pages[entry], key_pool.shape[1], counted, key_lengths, entry, alignment),
                mask=columns_of(mask, keys),
                **others,
            )
            output[entry, :, :queries] = attention.output[0]
            logsumexp[entry, :, :queries] = attention.logsumexp[0]
        return ServedAttention(output, logsumexp)

    return attend


def own_positions(queries: int, keys: int, alignment: str) -> Positions:
    """Position queries and keys as is right: by their own sequence."""
    offset = keys - queries if alignment == "bottom_right" else 0
    return np.arange(queries) + offset, np.arange(keys)
