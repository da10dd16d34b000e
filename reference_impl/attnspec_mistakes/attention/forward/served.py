"""What mistakes of the layouts of serving are made of: the reference's steps there, each replaced by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.patches import altered, patch
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
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
from attnspec_reference.precision import result_dtype, widen, widen_if_given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.patches import Computation
    from attnspec_reference.attention.scaled_dot_product_attention import Attention
    from attnspec_reference.precision import Array, Integers

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


def placing(place: Callable[..., Positions]) -> Callable[..., ServedAttention]:
    """Make an `attend_to_pages` that places queries and keys by a rule of its own.

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
                place(pages[entry], key_pool.shape[1], counted, key_lengths, entry, alignment),
                mask=columns_of(mask, keys),
                **others,
            )
            output[entry, :, :queries] = attention.output[0]
            logsumexp[entry, :, :queries] = attention.logsumexp[0]
        return ServedAttention(output, logsumexp)

    return attend


def own_positions(queries: int, keys: int, alignment: str) -> Positions:
    """Place queries and keys as is right: by their own sequence."""
    offset = keys - queries if alignment == "bottom_right" else 0
    return np.arange(queries) + offset, np.arange(keys)
