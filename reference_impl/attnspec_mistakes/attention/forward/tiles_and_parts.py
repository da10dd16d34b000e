"""What goes wrong where attention is cut up: keys in tiles and parts, heads in slices, widths that are filled up."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import attention_with
from attnspec_mistakes.attention.forward.forward_softmax import by_largest_so_far
from attnspec_mistakes.mistake import Made, Making, of_sizes
from attnspec_mistakes.patches import Computation, altered, defaulting, in_working_precision, on_calls
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.phases import divide_by_total, exponentiate, sum_over_keys
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans


def output_not_rescaled(tile: int) -> Computation:
    """Make an attention that corrects the sum of the exponentials for a larger logit, and not the weighed values."""
    uncorrected = by_largest_so_far(tile)

    def attend(**arguments: Any) -> Attention:
        corrected: list[Array] = []

        def exponentials(logits: Array, largest: Array) -> Array:
            corrected.append(sum_over_keys(exponentiate(logits, largest)))
            return uncorrected(logits, largest)

        return attention_with(exponentiate=exponentials, sum_over_keys=lambda _: corrected[0])(**arguments)

    return attend


def weighed_by_maximum(count: int) -> Computation:
    """Make an attention over parts of the keys that are merged by their largest logits, not by their logsumexps."""

    def divided(exponentials: Array, total: Array) -> Array:
        parts = np.array_split(exponentials, count, axis=-1)
        largest = [part.max(axis=-1, keepdims=True, initial=0) for part in parts]
        shares = [
            divide_by_total(part, part.sum(axis=-1, keepdims=True)) * of_part
            for part, of_part in zip(parts, largest, strict=True)
        ]
        return divide_by_total(np.concatenate(shares, axis=-1), np.sum(largest, axis=0, dtype=total.dtype))

    return attention_with(divide_by_total=divided)


def cut_at_queries(**arguments: Any) -> Attention:
    """Attend to no more keys than there are queries that count."""
    batch, _, queries, _ = np.shape(arguments["query"])
    lengths = arguments.get("query_lengths")
    counted = np.reshape(np.full(batch, queries) if lengths is None else lengths, (-1, 1, 1, 1))

    def cut(logits: Array, attendable: Booleans) -> Array:
        return exclude_keys(logits, attendable & np.less(np.arange(int(logits.shape[-1])), counted))

    return attention_with(exclude_keys=cut)(**arguments)


def cut_at_queries_alone(**arguments: Any) -> Attention:
    """Attend to as many keys as there are queries that count, whatever the lengths of the keys are."""
    return cut_at_queries(**{**arguments, "key_lengths": None})


def in_whole_slices(size: int) -> Computation:
    """Make an attention that goes through slices of batch entries and heads, and forgets those left over."""

    def attend(**arguments: Any) -> Attention:
        attention = scaled_dot_product_attention(**arguments)
        output = np.array(attention.output)
        batch, heads, *rest = output.shape
        reached = batch * heads // size * size
        flat = output.reshape(batch * heads, *rest)
        flat[reached:] = 0
        return attention._replace(output=flat.reshape(output.shape))

    return attend


def joined_as_they_lie(**arguments: Any) -> Attention:
    """Join the heads without putting tokens before heads first."""
    attention = scaled_dot_product_attention(**arguments)
    batch, heads, queries, width = attention.output.shape
    joined = np.ascontiguousarray(attention.output).reshape(batch, queries, heads, width)
    return attention._replace(output=joined.swapaxes(1, 2))


def of_padded_width(multiple: int) -> Computation:
    """Make an attention whose scale comes of the width that features are filled up to."""
    return defaulting(
        scaled_dot_product_attention,
        scale=lambda arguments: 1 / math.sqrt(-(-np.shape(arguments["query"])[-1] // multiple) * multiple),
    )


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.output_not_rescaled": of_sizes(output_not_rescaled, 16, 2, 4, 8, 32, 64, 128),
    "sdpa.parts_weighed_by_maximum": of_sizes(weighed_by_maximum, 2, 3, 4, 8, 16),
    "sdpa.last_key_dropped": attention_with(
        exclude_keys=lambda logits, attendable: exclude_keys(
            logits, attendable & np.less(np.arange(logits.shape[-1]), logits.shape[-1] - 1)
        )
    ),
    "sdpa.keys_cut_at_queries": Made(
        in_working_precision(cut_at_queries), other_ways=(in_working_precision(cut_at_queries_alone),)
    ),
    "sdpa.last_heads_dropped": of_sizes(in_whole_slices, 4, 2, 3, 8, 16),
    "sdpa.heads_joined_as_they_lie": joined_as_they_lie,
    "sdpa.causal_where_square": on_calls(
        scaled_dot_product_attention,
        lambda given: np.shape(given["query"])[2] == np.shape(given["key"])[2] and given.get("past_key") is None,
        altered(defaulting(scaled_dot_product_attention, is_causal=lambda _: True), is_causal=lambda _: True),
    ),
    "sdpa.scale_of_padded_width": of_sizes(of_padded_width, 16, 8, 32, 64, 128),
}
