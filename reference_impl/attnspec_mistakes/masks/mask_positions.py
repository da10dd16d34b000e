"""What goes wrong with positions: causality, alignment, offsets, lengths and padding."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.masks.making_masks import BY_ENTRY, beside_padding, of_first, right, steps, written_anew
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, ignoring, ignoring_where, on_calls, replacing
from attnspec_reference.masks.attention_mask import attention_mask, counts_as_key, first_position
from attnspec_reference.precision import Booleans, Integers


def transposed(mask: Booleans, _arguments: Mapping[str, Any]) -> Booleans:
    """Exchange queries and keys, where there are as many."""
    return mask.swapaxes(-1, -2) if mask.shape[-1] == mask.shape[-2] else mask


def always_causal(**arguments: Any) -> Any:
    """Look back, whether that is set or not."""
    return right(**{**arguments, "is_causal": True})


def always_bottom_right(**arguments: Any) -> Any:
    """Let the last query stand at the last key where nothing else positions it."""
    if arguments.get("offset") or "query_starts" in arguments:
        return right(**arguments)
    return right(**{**arguments, "causal_alignment": "bottom_right"})


def every_key(keys: Integers, _padding: Integers, _lengths: Integers) -> Booleans:
    """Count every key."""
    return np.ones((1, 1, len(keys)), dtype=np.bool_)


def padding_on_the_right(**arguments: Any) -> Any:
    """Exclude as many keys at the end as there is padding at the beginning."""
    if "left_padding" not in arguments:
        return right(**arguments)
    return steps(
        counts_as_key=lambda keys, padding, lengths: counts_as_key(
            keys, np.array([0]), np.minimum(len(keys) - padding, lengths)
        )
    )(**arguments)


def aligned_by_arrays(**arguments: Any) -> Any:
    """Take bottom-right for the difference of the two lengths of the arrays."""
    queries, keys = arguments["query_length"], arguments.get("key_length")
    whole = np.array([(queries if keys is None else keys) - queries])
    if arguments.get("causal_alignment") != "bottom_right" or "query_starts" in arguments:
        return right(**arguments)
    return steps(first_position=lambda *_given: whole[:, np.newaxis])(**arguments)


def aligned_by_key_lengths(**arguments: Any) -> Any:
    """Subtract all queries, also those that do not count."""
    queries = np.array([arguments["query_length"]])
    return steps(
        first_position=lambda alignment, offset, keys, _queries: first_position(alignment, offset, keys, queries)
    )(**arguments)


def first_of(entry: int) -> Computation:
    """Position the queries of every batch entry as those of another one."""
    return steps(first_position=lambda *given: np.roll(first_position(*given), -entry, axis=0))


def first_of_all(*given: Any) -> Integers:
    """Position the queries of every batch entry as those of the first one."""
    first = first_position(*given)
    return np.broadcast_to(first[:1], first.shape)


def keys_up_to_length(keys: Integers, left_padding: Integers, key_lengths: Integers) -> Booleans:
    """Count the key behind the last one, too."""
    return counts_as_key(keys, left_padding, key_lengths + 1)


def keys_behind_first(keys: Integers, left_padding: Integers, key_lengths: Integers) -> Booleans:
    """Count the first token as padding, where there is some."""
    return counts_as_key(keys, left_padding + (left_padding > 0), key_lengths)


def moved_by_padding(**arguments: Any) -> Any:
    """Count the positions of queries from the first token, and those of keys from the first key."""
    padding = arguments.get("left_padding")
    if padding is None:
        return right(**arguments)
    return steps(first_position=lambda *given: first_position(*given) - padding[:, np.newaxis])(**arguments)


FUNCTIONS: Mapping[str, Making] = {
    "attention_mask.causality_ignored": ignoring(attention_mask, "is_causal"),
    "attention_mask.always_causal": always_causal,
    "attention_mask.own_position_excluded": steps(at_or_before=lambda k, p: k < p),
    "attention_mask.next_position_included": steps(at_or_before=lambda k, p: k <= p + 1),
    "attention_mask.looks_ahead": steps(at_or_before=lambda k, p: k >= p),
    "attention_mask.transposed": written_anew(transposed),
    "attention_mask.inverted": written_anew(lambda mask, _arguments: ~mask),
    "attention_mask.always_top_left": ignoring(attention_mask, "causal_alignment"),
    "attention_mask.always_bottom_right": always_bottom_right,
    "attention_mask.offset_ignored": ignoring(attention_mask, "offset"),
    "attention_mask.offset_not_negative": altered(attention_mask, offset=lambda offset: max(offset, 0)),
    "attention_mask.offset_subtracted": altered(attention_mask, offset=lambda offset: -offset),
    "attention_mask.offset_one_more": altered(attention_mask, offset=lambda offset: offset + 1 if offset else 0),
    "attention_mask.aligned_by_arrays": aligned_by_arrays,
    "attention_mask.aligned_by_key_lengths": aligned_by_key_lengths,
    "attention_mask.position_of_first_entry": steps(first_position=first_of_all),
    "attention_mask.position_of_next_entry": first_of(1),
    "attention_mask.key_lengths_ignored": steps(
        counts_as_key=lambda keys, padding, _lengths: counts_as_key(keys, padding, np.array([len(keys)]))
    ),
    "attention_mask.key_lengths_ignored_without_causality": on_calls(
        attention_mask, lambda given: not given.get("is_causal"), steps(counts_as_key=every_key)
    ),
    "attention_mask.key_lengths_inclusive": steps(counts_as_key=keys_up_to_length),
    "attention_mask.key_lengths_of_first_entry": of_first("key_lengths"),
    "attention_mask.query_lengths_ignored": steps(
        counts_as_query=lambda queries, _lengths: np.ones((1, len(queries), 1), dtype=np.bool_)
    ),
    "attention_mask.query_lengths_as_keys": steps(
        counts_as_query=lambda queries, lengths: (queries <= lengths[:, np.newaxis])[:, :, np.newaxis]
    ),
    "attention_mask.padding_replaces_causality": ignoring_where(attention_mask, beside_padding, "is_causal"),
    "attention_mask.padding_ignored": steps(
        counts_as_key=lambda keys, _padding, lengths: counts_as_key(keys, np.array([0]), lengths)
    ),
    "attention_mask.padding_one_more": steps(counts_as_key=keys_behind_first),
    "attention_mask.padding_on_the_right": padding_on_the_right,
    "attention_mask.padding_moves_queries": moved_by_padding,
    "attention_mask.inputs_of_first_entry": of_first(*BY_ENTRY),
    "attention_mask.additive_finite": replacing(
        attention_mask, additive=lambda right, _arguments: np.where(right.mask, 0.0, -1e9)
    ),
    "attention_mask.additive_of_ones": replacing(
        attention_mask, additive=lambda right, _arguments: np.where(right.mask, 1.0, -np.inf)
    ),
    "attention_mask.additive_as_factor": replacing(
        attention_mask, additive=lambda right, _arguments: right.mask.astype(np.float64)
    ),
    "attention_mask.additive_inverted": replacing(
        attention_mask, additive=lambda right, _arguments: np.where(right.mask, -np.inf, 0.0)
    ),
}
