"""The calls that follow some cases with one argument changed, and in which the output must change with it.

Results kept under a key that leaves out an argument are right for every case, unless another case differs in that
argument alone, and few do. What the changed calls owe is not known. It is known that it is not what the case owes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.comparison import Run

REVERSED = "its own reverse along every axis"
"""Stands in `CHANGES` for what an input becomes."""

CHANGES: Mapping[str, tuple[str, object]] = {
    "layout/softmax_columns": ("x", REVERSED),
    "layout/softmax_columns_by_negative_axis": ("axis", -1),
    "layout/causal_mask_square": ("query_length", 4),
    "layout/causal_mask_more_keys": ("key_length", 6),
    "layout/causal_mask_more_keys_offset": ("offset", 1),
    "layout/causal_mask_square_additive": ("additive", False),
    "layout/split_heads_two": ("x", REVERSED),
    "layout/split_heads_two_other_values": ("num_heads", 4),
    "layout/combine_heads_two": ("x", REVERSED),
    "core/plain": ("query", REVERSED),
    "core/plain_other_values": ("key", REVERSED),
    "memory/repeated_nothing": ("value", REVERSED),
    "memory/repeated_the_mask": ("mask", REVERSED),
    "cache/past": ("past_key", REVERSED),
    "cache/past_other_values": ("past_value", REVERSED),
    "varlen/values_wider": ("key_lengths", REVERSED),
    # Rows beyond the length may hold anything. The others change because the last query that counts has a place.
    "varlen/causal_queries_bottom": ("query_lengths", REVERSED),
    "memory/repeated_the_sinks": ("sinks", REVERSED),
    "alibi/both_sides_drawn": ("alibi_slopes", REVERSED),
    "memory/repeated_causality": ("is_causal", False),
    "causal/fewer_queries_bottom_right": ("causal_alignment", "top_left"),
    "memory/repeated_the_scale": ("scale", 0.5),
    "memory/repeated_the_softcap": ("softcap", 2.0),
    "memory/repeated_the_window": ("window", [2, 0]),
    "layout/single_head_plain": ("x", REVERSED),
    "layout/single_head_plain_other_values": ("w_query", REVERSED),
    "layout/single_head_square": ("w_key", REVERSED),
    "layout/single_head_more_tokens": ("w_value", REVERSED),
    "layout/single_head_output": ("w_output", REVERSED),
    "layout/single_head_scale": ("scale", 2.0),
    "layout/multi_head_plain": ("query", REVERSED),
    "layout/multi_head_plain_other_values": ("key", REVERSED),
    "layout/multi_head_one_head": ("value", REVERSED),
    "layout/multi_head_heads_of_one": ("w_query", REVERSED),
    "layout/multi_head_odd_width": ("w_key", REVERSED),
    "layout/multi_head_weights": ("w_value", REVERSED),
    "layout/multi_head_one_query": ("w_output", REVERSED),
    # No bias of keys: it adds the same to every score of a query, which softmax does not see.
    "layout/multi_head_biases": ("b_query", REVERSED),
    "layout/multi_head_only_b_value": ("b_value", REVERSED),
    "layout/multi_head_only_b_output": ("b_output", REVERSED),
    "layout/multi_head_boolean_mask_rank_2": ("mask", REVERSED),
    "layout/multi_head_two_heads": ("num_heads", 3),
    "layout/multi_head_causal": ("is_causal", False),
    "layout/multi_head_scale": ("scale", 2.0),
    "layout/context_more_tokens": ("encoder_states", REVERSED),
    "layout/context_more_tokens_other_values": ("decoder_state", REVERSED),
    "layout/context_scale": ("scale", 2.0),
    "documents/002/glorot_normal_not_square": ("fan_in", 65),
    "layout/glorot_normal_wide": ("fan_out", 129),
    "documents/002/glorot_normal_seed_7": ("seed", 8),
}
"""Case to the argument that is changed, and what it becomes: each argument that reaches an output, in one small case.

One to a case, so that the call before it is the case's own: some keep the last result alone. What is owed changes by
so much that no right output can stay the same.
"""


class ChangedCall(NamedTuple):
    """A run of which one argument was changed; what it owes is not what it says.

    Attributes
    ----------
    argument
        Name of the input or attribute.
    change
        What it became, in words.
    run
        What to ask for.
    """

    argument: str
    change: str
    run: Run


def changed_call(run: Run) -> ChangedCall | None:
    """Return the call that follows a run; None for most cases, and where a convention took the attribute away.

    Parameters
    ----------
    run
        A run of any case.
    """
    argument, change = CHANGES.get(run.case.id, ("", None))
    given = run.case.inputs.get(argument)
    # Another folder of golden files may hold something else under an id, which its reverse leaves as it is.
    if given is not None and not np.array_equal(given, np.flip(given)):
        case = run.case._replace(inputs={**run.case.inputs, argument: np.flip(given).copy()})
        return ChangedCall(argument, REVERSED, run._replace(case=case))
    if argument in run.attributes and run.attributes[argument] != change:
        return ChangedCall(argument, repr(change), run._replace(attributes={**run.attributes, argument: change}))
    return None
