"""What goes wrong in where queries and keys stand: causality and alignment."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_keys import causal_offset
from attnspec_reference.attention.causal_mask import at_or_before, causal_mask
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Booleans, Integers

OPERATION = "scaled_dot_product_attention"
Sides = list[int | None]


def with_offset(change: Callable[[str, Any, int], Any]) -> Computation:
    """Make an attention that changes the position of the first query, given the alignment and the past's length."""

    def placed(alignment: str, query_lengths: Integers, key_lengths: Integers, past_length: int) -> Any:
        right = causal_offset(alignment, query_lengths, key_lengths, past_length)
        return change(alignment, right, past_length)

    return departure(scaled_dot_product_attention, causal_offset=placed)


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
    """Make an attention whose causality counts positions in an integer that wraps around."""

    def wrapped(query_length: int, key_length: int, offset: Any) -> Booleans:
        queries = (np.arange(query_length)[:, np.newaxis] + offset).astype(dtype)
        return np.arange(key_length).astype(dtype) <= queries

    return departure(scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=wrapped))


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.causal_skipped_with_mask",
        clause="sdpa.causal.top_left",
        sentence="Causality was dropped as soon as a mask was given.",
        engineer="The mask replaces the causal predicate instead of being intersected with it.",
        remedy="Exclude a key where the mask excludes it or where it comes later: both hold.",
        function=dropped("is_causal", lambda arguments: arguments.get("mask") is not None),
        source="https://github.com/huggingface/transformers/pull/41966",
    ),
    mistake(
        id="sdpa.mask_skipped_with_causal",
        clause="sdpa.mask.boolean",
        sentence="The mask was dropped as soon as is_causal was set.",
        engineer="The causal kernel is dispatched to, and it takes no mask.",
        remedy="Exclude a key where the mask excludes it or where it comes later: both hold.",
        function=dropped("mask", lambda arguments: bool(arguments.get("is_causal"))),
        source="https://github.com/keras-team/keras/issues/23038",
    ),
    mistake(
        id="sdpa.causal_skipped_for_one_query",
        clause="sdpa.causal.top_left",
        sentence="A single query attended to all keys although is_causal places it at the first one.",
        engineer="Sq == 1 is taken for a decode step: the causal predicate is skipped under top-left, too.",
        remedy="Place the query by causal_alignment, however many queries there are.",
        function=dropped("is_causal", lambda arguments: np.shape(arguments["query"])[2] == 1),
        source="https://github.com/pytorch/pytorch/issues/103082",
    ),
    mistake(
        id="sdpa.causal_in_groups_of_four",
        clause="sdpa.causal.top_left",
        sentence="Four neighbouring queries were given the same keys: those of the last of them.",
        engineer="The causal bound is taken once for a vector of four rows, so three of them see the future.",
        remedy="Compare the position of each query by itself.",
        function=departure(
            scaled_dot_product_attention, causal_mask=departure(causal_mask, at_or_before=in_groups_of_four)
        ),
        source="https://github.com/pytorch/pytorch/issues/195910",
    ),
    mistake(
        id="sdpa.positions_in_uint8",
        clause="sdpa.causal.top_left",
        sentence="Positions were counted in one byte: after 255 they start again at 0.",
        engineer="Positions are kept in uint8, so the causal comparison wraps at 256.",
        remedy="Count positions in an integer that holds the longest sequence.",
        function=counted_in(np.uint8),
    ),
    mistake(
        id="sdpa.positions_in_int8",
        clause="sdpa.causal.top_left",
        sentence="Positions were counted in one signed byte: after 127 they go on at -128.",
        engineer="Positions are kept in int8, so the causal comparison turns round at 128.",
        remedy="Count positions in an integer that holds the longest sequence.",
        function=counted_in(np.int8),
    ),
    mistake(
        id="sdpa.negative_offset_as_zero",
        clause="sdpa.causal.bottom_right",
        sentence="With more queries than keys the first query was put at the first key, not before it.",
        engineer="The bottom-right shift Sk - Sq is clamped at 0.",
        remedy="Let positions be negative: such a query may attend to no key.",
        function=with_offset(lambda _alignment, offset, _past: np.maximum(offset, 0)),
        source="https://github.com/NVIDIA/cutlass/issues/2336",
    ),
    mistake(
        id="sdpa.positions_unsigned",
        clause="sdpa.causal.bottom_right",
        sentence="Positions were counted without a sign: a query that stands before all keys attended to every one.",
        engineer="The bottom-right shift is added in an unsigned integer, so row + Sk - Sq wraps to a huge position.",
        remedy="Let positions be negative: such a query may attend to no key.",
        function=counted_in(np.uint32),
    ),
    mistake(
        id="sdpa.bottom_right_one_early",
        clause="sdpa.causal.bottom_right",
        sentence="With bottom_right, every query stood one position too early.",
        engineer="The bottom-right shift is Sk - Sq - 1: a total is mistaken for a last index.",
        remedy="With bottom_right, query i stands at key i + Sk - Sq.",
        function=with_offset(lambda alignment, offset, _past: offset - (alignment == "bottom_right")),
    ),
    mistake(
        id="sdpa.bottom_right_one_late",
        clause="sdpa.causal.bottom_right",
        sentence="With bottom_right, every query stood one position too late.",
        engineer="The bottom-right shift is Sk - Sq + 1, so each row sees one future key.",
        remedy="With bottom_right, query i stands at key i + Sk - Sq.",
        function=with_offset(lambda alignment, offset, _past: offset + (alignment == "bottom_right")),
    ),
    mistake(
        id="sdpa.bottom_right_without_past",
        clause="sdpa.causal.bottom_right",
        sentence="With bottom_right, the past was left out when the queries were placed.",
        engineer="The bottom-right shift takes the new keys only: Sk - Sq, without the P cached ones.",
        remedy="Count past keys as keys: query i stands at i + P + Sk - Sq.",
        function=with_offset(
            lambda alignment, offset, past_length: offset - past_length * (alignment == "bottom_right")
        ),
        source="https://github.com/hyprstream/hyprstream/pull/1521",
    ),
    mistake(
        id="sdpa.past_position_ignored",
        clause="sdpa.past.position",
        sentence="The first query was put at the first past key instead of after the past.",
        engineer="The row index is used as the position: the cache length is not added.",
        remedy="With a past of P tokens, put query i at position i + P.",
        function=with_offset(lambda alignment, offset, past_length: offset - past_length * (alignment == "top_left")),
        source="https://github.com/pytorch/executorch/pull/21749",
    ),
    mistake(
        id="sdpa.past_position_one_short",
        clause="sdpa.past.position",
        sentence="With a past, every query stood one position too early.",
        engineer="The cache length is passed as total - 1 where the length is due.",
        remedy="With a past of P tokens, put query i at position i + P.",
        function=with_offset(lambda _alignment, offset, past_length: offset - bool(past_length)),
    ),
    mistake(
        id="sdpa.causal_skipped_with_past",
        clause="sdpa.causal.top_left",
        sentence="Causality was dropped as soon as there was a past, so new tokens attended to later ones.",
        engineer="The causal predicate is skipped whenever a cache is attached, also for several queries.",
        remedy="With a past, too, exclude the keys after each query's position.",
        function=dropped("is_causal", lambda arguments: arguments.get("past_key") is not None),
        source="https://github.com/Mikyx-1/TinyLLM/pull/18",
    ),
    mistake(
        id="sdpa.alignment_of_first_entry",
        clause="sdpa.key_lengths.alignment",
        sentence="Every batch entry was aligned by the lengths of the first one.",
        engineer="The per-batch causal offset is read with a batch stride of 0.",
        remedy="Compute the position of the first query in each batch entry from its own lengths.",
        function=with_offset(of_first_entry),
        source="https://github.com/microsoft/onnxruntime/pull/28958",
    ),
    mistake(
        id="sdpa.key_lengths_not_aligned",
        clause="sdpa.key_lengths.alignment",
        sentence="The last query was aligned to the last key of the array, not to the last one that counts.",
        engineer="The bottom-right shift uses the padded key length instead of the length of the batch entry.",
        remedy="With bottom_right and key_lengths, put the last query at key L - 1 of its batch entry.",
        function=aligned_to_all_keys,
        source="https://github.com/onnx/onnx/issues/8054",
    ),
    mistake(
        id="sdpa.query_lengths_not_aligned",
        clause="sdpa.query_lengths.alignment",
        sentence="The last query of the array was aligned to the last key, not the last one that counts.",
        engineer="The bottom-right shift uses the padded query length instead of the length of the batch entry.",
        remedy="With bottom_right and query_lengths, align query N - 1 of each batch entry.",
        function=aligned_to_all_queries,
    ),
)
