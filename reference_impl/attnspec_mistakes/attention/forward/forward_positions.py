"""What goes wrong in where tokens stand: positions, windows, lengths, a past."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_mistakes.attention.forward.attention_patches import attention_given, attention_with
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import (
    Computation,
    exchanging,
    ignoring,
    ignoring_where,
    in_working_precision,
    patch,
    replacing,
)
from attnspec_reference.attention.attention_logits import causal_offset, within_window
from attnspec_reference.attention.causal_mask import at_or_before, causal_mask
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans, Integers

Sides = list[int | None]


def with_offset(change: Callable[[str, Any, int], Any]) -> Computation:
    """Make an attention that changes the position of the first query, given the alignment and the past's length."""

    def placed(alignment: str, query_lengths: Integers, key_lengths: Integers, past_length: int) -> Any:
        right = causal_offset(alignment, query_lengths, key_lengths, past_length)
        return change(alignment, right, past_length)

    return attention_with(causal_offset=placed)


def in_groups_of_four(query_length: int, key_length: int, offset: Any) -> Booleans:
    """Decide once for four queries, by the last of them."""
    last_of_group = np.arange(query_length) // 4 * 4 + 3
    return at_or_before(max(4, query_length + 3), key_length, offset)[..., last_of_group, :]


def aligned_to_all_keys(**arguments: Any) -> Attention:
    """Align the last query to the last key of the array, wherever the sequence of a batch entry ends."""
    keys = np.shape(arguments["key"])[2]
    return attention_with(
        causal_offset=lambda alignment, query_lengths, _key_lengths, past_length: causal_offset(
            alignment, query_lengths, np.full_like(query_lengths, keys + past_length), past_length
        )
    )(**arguments)


def aligned_to_all_queries(**arguments: Any) -> Attention:
    """Align the last query of the array, also where it does not count in a batch entry."""
    queries = np.shape(arguments["query"])[2]
    return attention_with(
        causal_offset=lambda alignment, _query_lengths, key_lengths, past_length: causal_offset(
            alignment, np.full_like(key_lengths, queries), key_lengths, past_length
        )
    )(**arguments)


def offset_of_first_entry(_alignment: str, offset: Any, _past_length: int) -> Any:
    """Use the position that holds in the first batch entry."""
    return np.broadcast_to(offset[:1], offset.shape) if np.ndim(offset) else offset


def counted_in(dtype: type[np.integer[Any]]) -> Computation:
    """Make an attention whose causality counts positions in an integer that wraps around."""

    def wrapped(query_length: int, key_length: int, offset: Any) -> Booleans:
        queries = (np.arange(query_length)[:, np.newaxis] + offset).astype(dtype)
        return np.arange(key_length).astype(dtype) <= queries

    return attention_with(causal_mask=patch(causal_mask, at_or_before=wrapped))


def with_window(change: Callable[[int | None, int | None], Sides]) -> Computation:
    """Make an attention that misreads the sides of the window."""
    return attention_given(window=lambda window: change(*window))


def reaching(left: int, right: int) -> Computation:
    """Make an attention whose window reaches some positions farther on each side."""

    def attendable(window: Sequence[int | None], *positions: Any) -> Booleans:
        farther = [None if side is None else side + more for side, more in zip(window, (left, right), strict=True)]
        return within_window(farther, *positions)

    return attention_with(within_window=attendable)


def window_without_offset(window: Any, query_length: int, key_length: int, _offset: Any) -> Booleans:
    """Lay the window around the row of a query, not around its position."""
    return within_window(window, query_length, key_length, 0)


def window_at_the_end(window: Any, query_length: int, key_length: int, _offset: Any) -> Booleans:
    """Lay the window as if the last query always stood at the last key."""
    return within_window(window, query_length, key_length, key_length - query_length)


def past_behind(past: ArrayLike | None, new: ArrayLike) -> Array:
    """Put the past after the new tokens."""
    return np.array(new) if past is None else np.concatenate([np.asarray(new), np.asarray(past)], axis=2)


def of_first_entry(array: Array) -> Array:
    """Give every batch entry what the first one has."""
    return np.array(np.broadcast_to(array[:1], array.shape))


@in_working_precision
def present_key_scaled(**arguments: Any) -> Attention:
    """Store the keys after the scale has been multiplied into them."""
    attention = scaled_dot_product_attention(**arguments)
    scale = applied_scale(arguments.get("scale"), np.shape(arguments["query"])[-1])
    return attention._replace(present_key=attention.present_key * scale)


def with_key_lengths(change: Callable[[Integers, dict[str, Any]], Integers]) -> Computation:
    """Make an attention that misreads how many keys count, but never counts more than there are."""

    def attend(**arguments: Any) -> Attention:
        if arguments.get("key_lengths") is not None:
            keys = np.shape(arguments["key"])[2]
            arguments["key_lengths"] = np.clip(change(arguments["key_lengths"], arguments), 0, keys)
        return scaled_dot_product_attention(**arguments)

    return attend


def no_longer_than_queries(lengths: Integers, arguments: dict[str, Any]) -> Integers:
    """Count no more keys than queries."""
    queries = arguments.get("query_lengths")
    return lengths if queries is None else np.minimum(lengths, queries)


def at_the_end(tokens: int, lengths: Integers) -> Booleans:
    """Take the last tokens for the ones that count."""
    return np.arange(tokens) >= tokens - lengths


def padding_zeroed(*, key_lengths: Any = None, **arguments: Any) -> Attention:
    """Set keys and values that do not count to zero, and let them take part."""
    if key_lengths is not None:
        positions = np.arange(int(np.shape(arguments["key"])[2]))[:, np.newaxis]
        counts: Booleans = np.less(positions, np.reshape(key_lengths, (-1, 1, 1, 1)))
        for name in ("key", "value"):
            arguments[name] = np.where(counts, arguments[name], np.zeros_like(arguments[name]))
    return scaled_dot_product_attention(**arguments)


def cut_and_padded(**arguments: Any) -> Attention:
    """Attend to no more keys than the longest entry has, and fill scores and logits up with zeros."""
    attention, lengths = scaled_dot_product_attention(**arguments), arguments.get("key_lengths")
    if lengths is None:
        return attention
    scores, logits = np.array(attention.scores), np.array(attention.logits)
    behind = slice(int(np.max(lengths, initial=0)), None)
    scores[..., behind] = logits[..., behind] = 0
    return attention._replace(scores=scores, logits=logits)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.causal_skipped_with_mask": ignoring_where(
        scaled_dot_product_attention, lambda arguments: arguments.get("mask") is not None, "is_causal"
    ),
    "sdpa.mask_skipped_with_causal": ignoring_where(
        scaled_dot_product_attention, lambda arguments: bool(arguments.get("is_causal")), "mask"
    ),
    "sdpa.causal_skipped_for_one_query": ignoring_where(
        scaled_dot_product_attention, lambda arguments: np.shape(arguments["query"])[2] == 1, "is_causal"
    ),
    "sdpa.causal_in_groups_of_four": attention_with(causal_mask=patch(causal_mask, at_or_before=in_groups_of_four)),
    "sdpa.positions_in_uint8": counted_in(np.uint8),
    "sdpa.positions_in_int8": counted_in(np.int8),
    "sdpa.negative_offset_as_zero": with_offset(lambda _alignment, offset, _past: np.maximum(offset, 0)),
    "sdpa.positions_unsigned": counted_in(np.uint32),
    "sdpa.bottom_right_one_early": with_offset(lambda alignment, offset, _past: offset - (alignment == "bottom_right")),
    "sdpa.bottom_right_one_late": with_offset(lambda alignment, offset, _past: offset + (alignment == "bottom_right")),
    "sdpa.bottom_right_without_past": with_offset(
        lambda alignment, offset, past_length: offset - past_length * (alignment == "bottom_right")
    ),
    "sdpa.past_position_ignored": with_offset(
        lambda alignment, offset, past_length: offset - past_length * (alignment == "top_left")
    ),
    "sdpa.past_position_one_short": with_offset(lambda _alignment, offset, past_length: offset - bool(past_length)),
    "sdpa.causal_skipped_with_past": ignoring_where(
        scaled_dot_product_attention, lambda arguments: arguments.get("past_key") is not None, "is_causal"
    ),
    "sdpa.alignment_of_first_entry": with_offset(offset_of_first_entry),
    "sdpa.key_lengths_not_aligned": aligned_to_all_keys,
    "sdpa.query_lengths_not_aligned": aligned_to_all_queries,
    "sdpa.window_ignored": ignoring(scaled_dot_product_attention, "window"),
    "sdpa.window_left_one_short": reaching(-1, 0),
    "sdpa.window_left_one_more": reaching(1, 0),
    "sdpa.window_right_one_short": reaching(0, -1),
    "sdpa.window_right_one_more": reaching(0, 1),
    "sdpa.window_sides_swapped": with_window(lambda left, right: [right, left]),
    "sdpa.window_symmetric": with_window(lambda left, _right: [left, left]),
    "sdpa.window_right_ignored": with_window(lambda left, _right: [left, None]),
    "sdpa.window_left_ignored": with_window(lambda _left, right: [None, right]),
    "sdpa.window_zero_as_open": with_window(lambda left, right: [left or None, right or None]),
    "sdpa.window_open_side_as_zero": with_window(lambda left, right: [left or 0, right or 0]),
    "sdpa.window_around_row": attention_with(within_window=window_without_offset),
    "sdpa.window_at_the_end": attention_with(within_window=window_at_the_end),
    "sdpa.window_replaces_causal": ignoring_where(
        scaled_dot_product_attention, lambda arguments: arguments.get("window") is not None, "is_causal"
    ),
    "sdpa.window_needs_causal": ignoring_where(
        scaled_dot_product_attention, lambda arguments: not arguments.get("is_causal"), "window"
    ),
    "sdpa.window_needs_mask": ignoring_where(
        scaled_dot_product_attention, lambda arguments: arguments.get("mask") is None, "window"
    ),
    "sdpa.past_appended": attention_with(prepend_past=past_behind),
    "sdpa.past_ignored": ignoring(scaled_dot_product_attention, "past_key", "past_value"),
    "sdpa.past_of_first_entry": attention_given(past_key=of_first_entry, past_value=of_first_entry),
    "sdpa.present_without_past": replacing(
        scaled_dot_product_attention,
        present_key=lambda _right, given: np.array(given["key"]),
        present_value=lambda _right, given: np.array(given["value"]),
    ),
    "sdpa.present_key_scaled": present_key_scaled,
    "sdpa.key_lengths_ignored": ignoring(scaled_dot_product_attention, "key_lengths"),
    "sdpa.key_length_of_first_entry": with_key_lengths(
        lambda lengths, _arguments: np.full_like(lengths, lengths[:1].sum())
    ),
    "sdpa.key_length_one_more": with_key_lengths(lambda lengths, _arguments: lengths + 1),
    "sdpa.key_length_one_short": with_key_lengths(lambda lengths, _arguments: lengths - 1),
    "sdpa.key_lengths_cumulated": with_key_lengths(lambda lengths, _arguments: np.cumsum(lengths)),
    "sdpa.padding_at_the_start": attention_with(within_length=at_the_end),
    "sdpa.padding_zeroed": padding_zeroed,
    "sdpa.cut_keys_padded_with_zeros": cut_and_padded,
    "sdpa.lengths_swapped": exchanging(scaled_dot_product_attention, ("key_lengths", "query_lengths")),
    "sdpa.query_lengths_hide_keys": with_key_lengths(no_longer_than_queries),
    "sdpa.query_padding_at_the_start": attention_with(
        answered_queries=lambda query_length, query_lengths: at_the_end(query_length, query_lengths).swapaxes(-1, -2)
    ),
}
