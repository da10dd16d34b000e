"""What goes wrong with sliding windows: sides, their ends, and what they are counted from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attnspec_mistakes.attention.attention_positions import dropped
from attnspec_mistakes.departures import altered, departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_keys import within_window
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Booleans

OPERATION = "scaled_dot_product_attention"
Sides = list[int | None]


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


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.window_ignored",
        clause="sdpa.window.left",
        sentence="The window was ignored: queries attended to keys outside it.",
        engineer="The window bounds do not reach the kernel that was dispatched to.",
        remedy="Exclude the keys more than left positions before the query, and more than right after it.",
        function=ignoring(scaled_dot_product_attention, "window"),
        source="https://github.com/huggingface/transformers/issues/35924",
    ),
    mistake(
        id="sdpa.window_left_one_short",
        clause="sdpa.window.left",
        sentence="The window was one key too narrow on the left: its size was taken to count the query's own key.",
        engineer="The left bound is col > row - left: the window counts keys, not distances.",
        remedy="Keep key j when j is at least p - left.",
        function=reaching(-1, 0),
        source="https://github.com/sgl-project/sglang/pull/32087",
    ),
    mistake(
        id="sdpa.window_left_one_more",
        clause="sdpa.window.left",
        sentence="The window was one key too wide on the left.",
        engineer="The left bound is col >= row - left - 1: W + 1 keys where W are due.",
        remedy="Keep key j when j is at least p - left.",
        function=reaching(1, 0),
        source="https://github.com/huggingface/transformers/issues/29623",
    ),
    mistake(
        id="sdpa.window_right_one_short",
        clause="sdpa.window.right",
        sentence="The window was one key too narrow on the right.",
        engineer="The right bound is col < row + right where <= is due.",
        remedy="Keep key j when j is at most p + right.",
        function=reaching(0, -1),
        source="https://github.com/microsoft/onnxruntime/pull/25927",
    ),
    mistake(
        id="sdpa.window_right_one_more",
        clause="sdpa.window.right",
        sentence="The window was one key too wide on the right.",
        engineer="The right bound is col <= row + right + 1.",
        remedy="Keep key j when j is at most p + right.",
        function=reaching(0, 1),
        source="https://github.com/huggingface/transformers/pull/26792",
    ),
    mistake(
        id="sdpa.window_sides_swapped",
        clause="sdpa.window.left",
        sentence="The two sides of the window were swapped.",
        engineer="The bounds are unpacked as (right, left).",
        remedy="The first number is how far back a query looks, the second how far ahead.",
        function=with_window(lambda left, right: [right, left]),
    ),
    mistake(
        id="sdpa.window_symmetric",
        clause="sdpa.window.right",
        sentence="The window reached as far ahead as it reached back.",
        engineer="Only the left bound is read, and used for both sides.",
        remedy="Read the right side from the second number of the window.",
        function=with_window(lambda left, _right: [left, left]),
        source="https://github.com/huggingface/transformers/pull/40700",
    ),
    mistake(
        id="sdpa.window_right_ignored",
        clause="sdpa.window.right",
        sentence="The right side of the window was ignored: queries attended to all later keys.",
        engineer="The right bound is left to the causal predicate, which is off.",
        remedy="Exclude the keys more than right positions after the query, causal or not.",
        function=with_window(lambda left, _right: [left, None]),
        source="https://github.com/jax-ml/jax/pull/39576",
    ),
    mistake(
        id="sdpa.window_left_ignored",
        clause="sdpa.window.left",
        sentence="The left side of the window was ignored: queries attended to all earlier keys.",
        engineer="The left bound is not applied: the key loop starts at 0 and is not masked.",
        remedy="Exclude the keys more than left positions before the query.",
        function=with_window(lambda _left, right: [None, right]),
    ),
    mistake(
        id="sdpa.window_zero_as_open",
        clause="sdpa.window.open_side",
        sentence="A side of 0 was taken for an open side.",
        engineer="The bounds are defaulted by truth value, so 0 disables a side.",
        remedy="Test whether a side is null; 0 means that nothing beyond the query's own position counts.",
        function=with_window(lambda left, right: [left or None, right or None]),
        source="https://github.com/unslothai/unsloth/pull/8253",
    ),
    mistake(
        id="sdpa.window_open_side_as_zero",
        clause="sdpa.window.open_side",
        sentence="An open side of the window was taken for 0.",
        engineer="A null bound is stored as 0 instead of as unbounded.",
        remedy="A side that is null excludes nothing.",
        function=with_window(lambda left, right: [left or 0, right or 0]),
    ),
    mistake(
        id="sdpa.window_around_row",
        clause="sdpa.window.position",
        sentence="The window was laid around the number of the query, not around its position.",
        engineer="The window bounds use the row index; past length and alignment shift are not added.",
        remedy="Lay the window around position i + offset, as causality does.",
        function=departure(scaled_dot_product_attention, within_window=window_without_offset),
        source="https://github.com/ROCm/flash-attention/pull/185",
    ),
    mistake(
        id="sdpa.window_at_the_end",
        clause="sdpa.window.position",
        sentence="The window was always aligned to the last key, whatever alignment was asked for.",
        engineer="The window bounds hard-code the bottom-right shift Sk - Sq.",
        remedy="Lay the window around position i + offset, as causality does.",
        function=departure(scaled_dot_product_attention, within_window=window_at_the_end),
    ),
    mistake(
        id="sdpa.window_replaces_causal",
        clause="sdpa.window.right",
        sentence="Causality was dropped as soon as a window was given.",
        engineer="The local-attention path replaces the causal predicate instead of adding to it.",
        remedy="With both, exclude the keys that either excludes.",
        function=dropped("is_causal", lambda arguments: arguments.get("window") is not None),
        source="https://github.com/ROCm/flash-attention/issues/158",
    ),
    mistake(
        id="sdpa.window_needs_causal",
        clause="sdpa.window.position",
        sentence="The window was ignored without is_causal.",
        engineer="The window bounds are only applied inside the causal branch.",
        remedy="Apply the window whether is_causal is set or not.",
        function=dropped("window", lambda arguments: not arguments.get("is_causal")),
        source="https://github.com/vllm-project/vllm/pull/31406",
    ),
    mistake(
        id="sdpa.window_needs_mask",
        clause="sdpa.window.left",
        sentence="The window was ignored when no mask was given.",
        engineer="The window is merged into the mask, and there is no mask to merge it into.",
        remedy="Apply the window whether a mask is given or not.",
        function=dropped("window", lambda arguments: arguments.get("mask") is None),
        source="https://github.com/jax-ml/jax/issues/32300",
    ),
)
