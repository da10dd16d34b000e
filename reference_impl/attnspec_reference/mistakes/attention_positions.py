"""What goes wrong in where queries and keys stand: causality, alignment, the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.attention_keys import causal_offset, within_window
from attnspec_reference.causal_mask import at_or_before, causal_mask
from attnspec_reference.departures import altered, departure, ignoring
from attnspec_reference.mistakes.mistake import Mistake
from attnspec_reference.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_reference.departures import Computation
    from attnspec_reference.precision import Booleans, Integers

OPERATION = "scaled_dot_product_attention"
Sides = list[int | None]


def with_offset(change: Callable[[str, Any, int], Any]) -> Computation:
    """Make an attention that changes the position of the first query, given the alignment and the past's length."""

    def placed(alignment: str, query_lengths: Integers, key_lengths: Integers, past_length: int) -> Any:
        right = causal_offset(alignment, query_lengths, key_lengths, past_length)
        return change(alignment, right, past_length)

    return departure(scaled_dot_product_attention, causal_offset=placed)


def with_window(change: Callable[[int | None, int | None], Sides]) -> Computation:
    """Make an attention that misreads the sides of the window."""
    return altered(scaled_dot_product_attention, window=lambda window: change(*window))


def reaching(left: int, right: int) -> Computation:
    """Make an attention whose window reaches some positions farther on each side."""

    def attendable(window: Sequence[int | None], *places: Any) -> Booleans:
        farther = [None if side is None else side + more for side, more in zip(window, (left, right), strict=True)]
        return within_window(farther, *places)

    return departure(scaled_dot_product_attention, within_window=attendable)


def window_without_offset(window: Any, query_length: int, key_length: int, _offset: Any) -> Booleans:
    """Lay the window around the row of a query, not around its position."""
    return within_window(window, query_length, key_length, 0)


def window_at_the_end(window: Any, query_length: int, key_length: int, _offset: Any) -> Booleans:
    """Lay the window as if the last query always stood at the last key."""
    return within_window(window, query_length, key_length, key_length - query_length)


def dropped(name: str, when: Callable[[dict[str, Any]], bool]) -> Computation:
    """Make an attention that does not hear an argument on some calls."""

    def attend(**arguments: Any) -> Attention:
        if when(arguments):
            arguments.pop(name, None)
        return scaled_dot_product_attention(**arguments)

    return attend


def in_groups_of_four(query_length: int, key_length: int, offset: Any) -> Booleans:
    """Decide once for four queries, by the last of them."""
    last_of_group = np.arange(query_length) // 4 * 4 + 3
    return at_or_before(max(4, query_length + 3), key_length, offset)[..., last_of_group, :]


def aligned_to_all_keys(**arguments: Any) -> Attention:
    """Align the last query to the last key of the array, wherever the sequence of a batch entry ends."""
    keys = np.shape(arguments["key"])[2]

    def placed(alignment: str, query_lengths: Integers, _key_lengths: Integers, past_length: int) -> Any:
        return causal_offset(alignment, query_lengths, np.full_like(query_lengths, keys + past_length), past_length)

    return departure(scaled_dot_product_attention, causal_offset=placed)(**arguments)


def aligned_to_all_queries(**arguments: Any) -> Attention:
    """Align the last query of the array, also where it does not count in a batch entry."""
    queries = np.shape(arguments["query"])[2]

    def placed(alignment: str, _query_lengths: Integers, key_lengths: Integers, past_length: int) -> Any:
        return causal_offset(alignment, np.full_like(key_lengths, queries), key_lengths, past_length)

    return departure(scaled_dot_product_attention, causal_offset=placed)(**arguments)


def of_first_entry(_alignment: str, offset: Any, _past_length: int) -> Any:
    """Use the position that holds in the first batch entry."""
    return np.broadcast_to(offset[:1], offset.shape) if np.ndim(offset) else offset


def counted_in(dtype: type[np.integer[Any]]) -> Computation:
    """Make an attention whose causality counts positions in a narrow integer, which wraps around."""

    def wrapped(query_length: int, key_length: int, offset: Any) -> Booleans:
        queries = (np.arange(query_length)[:, np.newaxis] + offset).astype(dtype)
        return np.arange(key_length).astype(dtype) <= queries

    return departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=wrapped))


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="sdpa.causal_skipped_with_mask",
        operation=OPERATION,
        clause="sdpa.causal.top_left",
        sentence="Causality was dropped as soon as a mask was given.",
        engineer="The mask replaces the causal predicate instead of being intersected with it.",
        remedy="Exclude a key where the mask excludes it or where it comes later: both hold.",
        function=dropped("is_causal", lambda arguments: arguments.get("mask") is not None),
        source="https://github.com/huggingface/transformers/pull/41966",
    ),
    Mistake(
        id="sdpa.mask_skipped_with_causal",
        operation=OPERATION,
        clause="sdpa.mask.boolean",
        sentence="The mask was dropped as soon as is_causal was set.",
        engineer="The causal kernel is dispatched to, and it takes no mask.",
        remedy="Exclude a key where the mask excludes it or where it comes later: both hold.",
        function=dropped("mask", lambda arguments: bool(arguments.get("is_causal"))),
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    Mistake(
        id="sdpa.causal_skipped_for_one_query",
        operation=OPERATION,
        clause="sdpa.causal.top_left",
        sentence="A single query attended to all keys although is_causal places it at the first one.",
        engineer="Sq == 1 is taken for a decode step: the causal predicate is skipped under top-left, too.",
        remedy="Place the query by causal_alignment, however many queries there are.",
        function=dropped("is_causal", lambda arguments: np.shape(arguments["query"])[2] == 1),
        source="https://github.com/pytorch/pytorch/issues/103082",
    ),
    Mistake(
        id="sdpa.causal_in_groups_of_four",
        operation=OPERATION,
        clause="sdpa.causal.top_left",
        sentence="Four neighbouring queries were given the same keys: those of the last of them.",
        engineer="The causal bound is taken once for a vector of four rows, so three of them see the future.",
        remedy="Compare the position of each query by itself.",
        function=departure(
            scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=in_groups_of_four)
        ),
        source="https://github.com/pytorch/pytorch/issues/195910",
    ),
    Mistake(
        id="sdpa.positions_in_uint8",
        operation=OPERATION,
        clause="sdpa.causal.top_left",
        sentence="Positions were counted in one byte: after 255 they start again at 0.",
        engineer="Positions are kept in uint8, so the causal comparison wraps at 256.",
        remedy="Count positions in an integer that holds the longest sequence.",
        function=counted_in(np.uint8),
    ),
    Mistake(
        id="sdpa.positions_in_int8",
        operation=OPERATION,
        clause="sdpa.causal.top_left",
        sentence="Positions were counted in one signed byte: after 127 they go on at -128.",
        engineer="Positions are kept in int8, so the causal comparison turns round at 128.",
        remedy="Count positions in an integer that holds the longest sequence.",
        function=counted_in(np.int8),
    ),
    Mistake(
        id="sdpa.negative_offset_as_zero",
        operation=OPERATION,
        clause="sdpa.causal.bottom_right",
        sentence="With more queries than keys the first query was put at the first key, not before it.",
        engineer="The bottom-right shift Sk - Sq is clamped at 0.",
        remedy="Let positions be negative: such a query may attend to no key.",
        function=with_offset(lambda _alignment, offset, _past: np.maximum(offset, 0)),
        source="https://github.com/NVIDIA/cutlass/issues/2336",
    ),
    Mistake(
        id="sdpa.bottom_right_one_early",
        operation=OPERATION,
        clause="sdpa.causal.bottom_right",
        sentence="With bottom_right, every query stood one position too early.",
        engineer="The bottom-right shift is Sk - Sq - 1: a total is mistaken for a last index.",
        remedy="With bottom_right, query i stands at key i + Sk - Sq.",
        function=with_offset(lambda alignment, offset, _past: offset - (alignment == "bottom_right")),
    ),
    Mistake(
        id="sdpa.bottom_right_one_late",
        operation=OPERATION,
        clause="sdpa.causal.bottom_right",
        sentence="With bottom_right, every query stood one position too late.",
        engineer="The bottom-right shift is Sk - Sq + 1, so each row sees one future key.",
        remedy="With bottom_right, query i stands at key i + Sk - Sq.",
        function=with_offset(lambda alignment, offset, _past: offset + (alignment == "bottom_right")),
    ),
    Mistake(
        id="sdpa.bottom_right_without_past",
        operation=OPERATION,
        clause="sdpa.past.position",
        sentence="With bottom_right, the past was left out when the queries were placed.",
        engineer="The bottom-right shift takes the new keys only: Sk - Sq, without the P cached ones.",
        remedy="Count past keys as keys: query i stands at i + P + Sk - Sq.",
        function=with_offset(
            lambda alignment, offset, past_length: offset - past_length * (alignment == "bottom_right")
        ),
        source="https://github.com/hyprstream/hyprstream/pull/1521",
    ),
    Mistake(
        id="sdpa.past_position_ignored",
        operation=OPERATION,
        clause="sdpa.past.position",
        sentence="The first query was put at the first past key instead of after the past.",
        engineer="The row index is used as the position: the cache length is not added.",
        remedy="With a past of P tokens, put query i at position i + P.",
        function=with_offset(lambda alignment, offset, past_length: offset - past_length * (alignment == "top_left")),
        source="https://github.com/pytorch/executorch/pull/21749",
    ),
    Mistake(
        id="sdpa.past_position_one_short",
        operation=OPERATION,
        clause="sdpa.past.position",
        sentence="With a past, every query stood one position too early.",
        engineer="The cache length is passed as total - 1 where the length is due.",
        remedy="With a past of P tokens, put query i at position i + P.",
        function=with_offset(lambda _alignment, offset, past_length: offset - bool(past_length)),
    ),
    Mistake(
        id="sdpa.causal_skipped_with_past",
        operation=OPERATION,
        clause="sdpa.past.position",
        sentence="Causality was dropped as soon as there was a past, so new tokens attended to later ones.",
        engineer="The causal predicate is skipped whenever a cache is attached, also for several queries.",
        remedy="With a past, too, exclude the keys after each query's position.",
        function=dropped("is_causal", lambda arguments: arguments.get("past_key") is not None),
        source="https://github.com/Mikyx-1/TinyLLM/pull/18",
    ),
    Mistake(
        id="sdpa.alignment_of_first_entry",
        operation=OPERATION,
        clause="sdpa.key_lengths.alignment",
        sentence="Every batch entry was aligned by the lengths of the first one.",
        engineer="The per-batch causal offset is read with a batch stride of 0.",
        remedy="Compute the position of the first query in each batch entry from its own lengths.",
        function=with_offset(of_first_entry),
        source="https://github.com/microsoft/onnxruntime/pull/28958",
    ),
    Mistake(
        id="sdpa.key_lengths_not_aligned",
        operation=OPERATION,
        clause="sdpa.key_lengths.alignment",
        sentence="The last query was aligned to the last key of the array, not to the last one that counts.",
        engineer="The bottom-right shift uses the padded key length instead of the length of the batch entry.",
        remedy="With bottom_right and key_lengths, put the last query at key L - 1 of its batch entry.",
        function=aligned_to_all_keys,
        source="https://github.com/onnx/onnx/issues/8054",
    ),
    Mistake(
        id="sdpa.query_lengths_not_aligned",
        operation=OPERATION,
        clause="sdpa.query_lengths.alignment",
        sentence="The last query of the array was aligned to the last key, not the last one that counts.",
        engineer="The bottom-right shift uses the padded query length instead of the length of the batch entry.",
        remedy="With bottom_right and query_lengths, align query N - 1 of each batch entry.",
        function=aligned_to_all_queries,
    ),
    Mistake(
        id="sdpa.window_ignored",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The window was ignored: queries attended to keys outside it.",
        engineer="The window bounds do not reach the kernel that was dispatched to.",
        remedy="Exclude the keys more than left positions before the query, and more than right after it.",
        function=ignoring(scaled_dot_product_attention, "window"),
        source="https://github.com/huggingface/transformers/issues/35924",
    ),
    Mistake(
        id="sdpa.window_left_one_short",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The window was one key too narrow on the left: its size was taken to count the query's own key.",
        engineer="The left bound is col > row - left: the window counts keys, not distances.",
        remedy="Keep key j when j is at least p - left.",
        function=reaching(-1, 0),
        source="https://github.com/sgl-project/sglang/pull/32087",
    ),
    Mistake(
        id="sdpa.window_left_one_more",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The window was one key too wide on the left.",
        engineer="The left bound is col >= row - left - 1: W + 1 keys where W are due.",
        remedy="Keep key j when j is at least p - left.",
        function=reaching(1, 0),
        source="https://github.com/huggingface/transformers/issues/29623",
    ),
    Mistake(
        id="sdpa.window_right_one_short",
        operation=OPERATION,
        clause="sdpa.window.right",
        sentence="The window was one key too narrow on the right.",
        engineer="The right bound is col < row + right where <= is due.",
        remedy="Keep key j when j is at most p + right.",
        function=reaching(0, -1),
        source="https://github.com/microsoft/onnxruntime/pull/25927",
    ),
    Mistake(
        id="sdpa.window_right_one_more",
        operation=OPERATION,
        clause="sdpa.window.right",
        sentence="The window was one key too wide on the right.",
        engineer="The right bound is col <= row + right + 1.",
        remedy="Keep key j when j is at most p + right.",
        function=reaching(0, 1),
        source="https://github.com/huggingface/transformers/pull/26792",
    ),
    Mistake(
        id="sdpa.window_sides_swapped",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The two sides of the window were swapped.",
        engineer="The bounds are unpacked as (right, left).",
        remedy="The first number is how far back a query looks, the second how far ahead.",
        function=with_window(lambda left, right: [right, left]),
    ),
    Mistake(
        id="sdpa.window_symmetric",
        operation=OPERATION,
        clause="sdpa.window.right",
        sentence="The window reached as far ahead as it reached back.",
        engineer="Only the left bound is read, and used for both sides.",
        remedy="Read the right side from the second number of the window.",
        function=with_window(lambda left, _right: [left, left]),
        source="https://github.com/huggingface/transformers/pull/40700",
    ),
    Mistake(
        id="sdpa.window_right_ignored",
        operation=OPERATION,
        clause="sdpa.window.right",
        sentence="The right side of the window was ignored: queries attended to all later keys.",
        engineer="The right bound is left to the causal predicate, which is off.",
        remedy="Exclude the keys more than right positions after the query, causal or not.",
        function=with_window(lambda left, _right: [left, None]),
        source="https://github.com/jax-ml/jax/pull/39576",
    ),
    Mistake(
        id="sdpa.window_left_ignored",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The left side of the window was ignored: queries attended to all earlier keys.",
        engineer="The left bound is not applied: the key loop starts at 0 and is not masked.",
        remedy="Exclude the keys more than left positions before the query.",
        function=with_window(lambda _left, right: [None, right]),
    ),
    Mistake(
        id="sdpa.window_zero_as_open",
        operation=OPERATION,
        clause="sdpa.window.open_side",
        sentence="A side of 0 was taken for an open side.",
        engineer="The bounds are defaulted by truth value, so 0 disables a side.",
        remedy="Test whether a side is null; 0 means that nothing beyond the query's own position counts.",
        function=with_window(lambda left, right: [left or None, right or None]),
        source="https://github.com/unslothai/unsloth/pull/8253",
    ),
    Mistake(
        id="sdpa.window_open_side_as_zero",
        operation=OPERATION,
        clause="sdpa.window.open_side",
        sentence="An open side of the window was taken for 0.",
        engineer="A null bound is stored as 0 instead of as unbounded.",
        remedy="A side that is null excludes nothing.",
        function=with_window(lambda left, right: [left or 0, right or 0]),
    ),
    Mistake(
        id="sdpa.window_around_row",
        operation=OPERATION,
        clause="sdpa.window.position",
        sentence="The window was laid around the number of the query, not around its position.",
        engineer="The window bounds use the row index; past length and alignment shift are not added.",
        remedy="Lay the window around position i + offset, as causality does.",
        function=departure(scaled_dot_product_attention, within_window=window_without_offset),
        source="https://github.com/ROCm/flash-attention/pull/185",
    ),
    Mistake(
        id="sdpa.window_at_the_end",
        operation=OPERATION,
        clause="sdpa.window.position",
        sentence="The window was always aligned to the last key, whatever alignment was asked for.",
        engineer="The window bounds hard-code the bottom-right shift Sk - Sq.",
        remedy="Lay the window around position i + offset, as causality does.",
        function=departure(scaled_dot_product_attention, within_window=window_at_the_end),
    ),
    Mistake(
        id="sdpa.window_replaces_causal",
        operation=OPERATION,
        clause="sdpa.causal.top_left",
        sentence="Causality was dropped as soon as a window was given.",
        engineer="The local-attention path replaces the causal predicate instead of adding to it.",
        remedy="With both, exclude the keys that either excludes.",
        function=dropped("is_causal", lambda arguments: arguments.get("window") is not None),
        source="https://github.com/ROCm/flash-attention/issues/158",
    ),
    Mistake(
        id="sdpa.window_needs_causal",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The window was ignored without is_causal.",
        engineer="The window bounds are only applied inside the causal branch.",
        remedy="Apply the window whether is_causal is set or not.",
        function=dropped("window", lambda arguments: not arguments.get("is_causal")),
        source="https://github.com/vllm-project/vllm/pull/31406",
    ),
    Mistake(
        id="sdpa.window_needs_mask",
        operation=OPERATION,
        clause="sdpa.window.left",
        sentence="The window was ignored when no mask was given.",
        engineer="The window is merged into the mask, and there is no mask to merge it into.",
        remedy="Apply the window whether a mask is given or not.",
        function=dropped("window", lambda arguments: arguments.get("mask") is None),
        source="https://github.com/jax-ml/jax/issues/32300",
    ),
)
