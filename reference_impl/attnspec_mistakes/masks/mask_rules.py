"""What goes wrong with rules of positions: windows, chunks and prefixes, and with several rules at once."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.masks.making_masks import nothing_excluded, of_first, right, steps, written_anew
from attnspec_mistakes.mistake import Making, of_sizes
from attnspec_mistakes.patches import Computation, altered, ignoring, ignoring_where, on_calls
from attnspec_reference.masks.attention_mask import at_or_before, attention_mask, in_chunk, in_prefix, in_window
from attnspec_reference.precision import Booleans, Integers

Window = Sequence[int | None]

RULES: Mapping[str, tuple[str, ...]] = {
    "window": ("window",),
    "chunk": ("chunk",),
    "documents": ("query_documents", "key_documents"),
    "starts": ("query_starts", "key_starts"),
    "tree": ("parents",),
    "blocks": ("attended_blocks", "attended_block_size"),
}
"""Rules that can be left out, each with its arguments, in the order of the steps."""


def sides(change: Callable[[int | None, int | None], Window]) -> Computation:
    """Change the sides of a window."""
    return altered(attention_mask, window=lambda window: change(*window))


def length_of_keys(arguments: Mapping[str, Any]) -> int:
    """Give the number of keys."""
    keys = arguments.get("key_length")
    return arguments["query_length"] if keys is None else keys


def open_as_length(**arguments: Any) -> Any:
    """Take the number of keys for a side that is open."""
    length = length_of_keys(arguments)
    return sides(lambda left, right: (length if left is None else left, length if right is None else right))(
        **arguments
    )


def mirrored(k: Integers, p: Integers, window: Window) -> Booleans:
    """Look as far back as ahead, and the other way round."""
    return in_window(k, p, (window[1], window[0]))


def by_index(rule: Callable[..., Booleans]) -> Callable[..., Booleans]:
    """Count queries from 0, wherever they stand."""

    def computed(k: Integers, p: Integers, *given: Any) -> Booleans:
        return rule(k, np.arange(p.shape[1])[np.newaxis, :, np.newaxis], *given)

    return computed


def replacing_causality(name: str) -> Computation:
    """Make a rule the whole of the mask by position: beside it causality is dropped."""
    return ignoring_where(attention_mask, lambda given: given.get(name) is not None, "is_causal")


def previous_chunk_too(k: Integers, p: Integers, chunk: int, padding: Integers) -> Booleans:
    """Look into the chunk before as well."""
    return in_chunk(k, p, chunk, padding) | in_chunk(k + chunk, p, chunk, padding)


def cut_towards_zero(k: Integers, p: Integers, chunk: int, padding: Integers) -> Booleans:
    """Divide as C does: positions before the first token stand in its chunk."""
    start = padding[:, np.newaxis, np.newaxis]
    return np.trunc((k - start) / chunk) == np.trunc((p - start) / chunk)


def as_many_chunks(**arguments: Any) -> Any:
    """Cut the keys into so many chunks."""
    chunk = arguments.get("chunk")
    if chunk is None:
        return right(**arguments)
    return right(**{**arguments, "chunk": max(-(-length_of_keys(arguments) // chunk), 1)})


def from_first_key(k: Integers, p: Integers, chunk: int, _padding: Integers) -> Booleans:
    """Count chunks from key 0, whatever the padding."""
    return in_chunk(k, p, chunk, np.array([0]))


def longest_prefix(k: Integers, prefix_lengths: Integers | None) -> Booleans:
    """Take the longest prefix of the batch for all of them."""
    return in_prefix(k, None if prefix_lengths is None else np.full_like(prefix_lengths, prefix_lengths.max()))


def prefix_inclusive(k: Integers, prefix_lengths: Integers | None) -> Booleans:
    """Count one key more, where there is a prefix."""
    return in_prefix(k, None if prefix_lengths is None else prefix_lengths + (prefix_lengths > 0))


def prefix_behind_padding(**arguments: Any) -> Any:
    """Count the prefix from the first token."""
    if "prefix_lengths" not in arguments or "left_padding" not in arguments:
        return right(**arguments)
    padding = arguments["left_padding"]
    return steps(
        in_prefix=lambda k, lengths: in_prefix(k, lengths + padding) & (k >= padding[:, np.newaxis, np.newaxis])
    )(**arguments)


def queries_of_prefix_see_all(**arguments: Any) -> Any:
    """Lift causality from queries in the prefix, and not from keys."""
    lengths = arguments.get("prefix_lengths")
    if lengths is None:
        return right(**arguments)
    return steps(
        at_or_before=lambda k, p: at_or_before(k, p) | (p < lengths[:, np.newaxis, np.newaxis]),
        in_prefix=lambda k, _lengths: in_prefix(k, None),
    )(**arguments)


def widened(names: Sequence[str]) -> Computation:
    """Let the prefix be seen across other rules, too."""

    def change(mask: Booleans, arguments: Mapping[str, Any]) -> Booleans:
        if "prefix_lengths" not in arguments or not arguments.get("is_causal"):
            return mask
        others = {name: value for name, value in arguments.items() if name not in names}
        without = right(**others).mask
        keys: Integers = np.arange(int(mask.shape[-1]))[np.newaxis, np.newaxis, np.newaxis]
        return mask | (without & in_prefix(keys[0], arguments["prefix_lengths"])[:, np.newaxis])

    return written_anew(change)


def prefix_without_causality(**arguments: Any) -> Any:
    """Take a prefix for a kind of causality: behind it queries look back, whether that is set or not."""
    return right(**({**arguments, "is_causal": True} if "prefix_lengths" in arguments else arguments))


def given_rules(arguments: Mapping[str, Any]) -> list[str]:
    """Name the rules that a call gives."""
    return [rule for rule, names in RULES.items() if arguments.get(names[0]) is not None]


def alone(arguments: Mapping[str, Any], kept: str) -> dict[str, Any]:
    """Leave out all rules but one."""
    dropped = {name for rule, names in RULES.items() if rule != kept for name in names}
    return {name: value for name, value in arguments.items() if name not in dropped}


def any_rule(mask: Booleans, arguments: Mapping[str, Any]) -> Booleans:
    """Let a pair be attended that one of the rules allows."""
    masks = [right(**alone(arguments, rule)).mask for rule in given_rules(arguments)]
    return np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*masks)), mask.shape) if masks else mask


def one_rule(index: int) -> Computation:
    """Hear one of several rules, the first or the last."""

    @wraps(attention_mask)
    def computed(**arguments: Any) -> Any:
        rules = given_rules(arguments)
        if len(rules) < 2:
            return right(**arguments)
        shape = right(**arguments).mask.shape
        return written_anew(lambda _mask, given: np.broadcast_to(right(**alone(given, rules[index])).mask, shape))(
            **arguments
        )

    return computed


def one_query(given: Mapping[str, Any]) -> bool:
    """Say whether there is a single query, as in a step of decoding."""
    return given["query_length"] == 1


def window_cuts_causality(**arguments: Any) -> Any:
    """Add the window to the causal diagonal, so that causality ends where the window would ahead."""
    left = (arguments.get("window") or (None,))[0]
    if left is None or not arguments.get("is_causal"):
        return right(**arguments)
    return steps(
        at_or_before=lambda k, p: at_or_before(k, p) | (k > p + left + 1),
        in_window=nothing_excluded,
    )(**arguments)


def span_of_a_tile(size: int) -> Computation:
    """Visit no more keys for a tile of queries than the window has before it, and a tile more."""

    def near(k: Integers, p: Integers, window: Window) -> Booleans:
        left, ahead = window
        seen = in_window(k, p, window)
        if left is None or ahead is not None:
            return seen
        first = p[:, np.arange(p.shape[1]) // size * size]
        return seen & (k < np.maximum(first - left, 0) + left + size)

    return on_calls(attention_mask, lambda given: not given.get("is_causal"), steps(in_window=near))


FUNCTIONS: Mapping[str, Making] = {
    "attention_mask.window_ignored": ignoring(attention_mask, "window"),
    "attention_mask.window_left_exclusive": sides(
        lambda left, right: (None if left is None else max(left - 1, 0), right)
    ),
    "attention_mask.window_left_one_more": sides(lambda left, right: (None if left is None else left + 1, right)),
    "attention_mask.window_right_ignored": sides(lambda left, _right: (left, None)),
    "attention_mask.window_left_ignored": sides(lambda _left, right: (None, right)),
    "attention_mask.window_right_exclusive": sides(
        lambda left, right: (left, None if right is None else max(right - 1, 0))
    ),
    "attention_mask.window_mirrored": steps(in_window=mirrored),
    "attention_mask.window_left_on_both_sides": sides(lambda left, _right: (left, left)),
    "attention_mask.window_open_as_zero": sides(lambda left, right: (left or 0, right or 0)),
    "attention_mask.window_zero_as_open": sides(lambda left, right: (left or None, right or None)),
    "attention_mask.window_open_as_length": open_as_length,
    "attention_mask.window_around_index": steps(in_window=by_index(in_window)),
    "attention_mask.window_alone_ignored": ignoring_where(
        attention_mask, lambda given: not given.get("is_causal"), "window"
    ),
    "attention_mask.window_cuts_causality": window_cuts_causality,
    "attention_mask.window_of_few_tiles": of_sizes(span_of_a_tile, 16, 4, 64, 128),
    "attention_mask.window_dropped_in_decoding": ignoring_where(attention_mask, one_query, "window"),
    "attention_mask.window_replaces_causality": replacing_causality("window"),
    "attention_mask.chunk_ignored": ignoring(attention_mask, "chunk"),
    "attention_mask.chunk_from_one": steps(
        in_chunk=lambda k, p, chunk, padding: in_chunk(k + 1, p + 1, chunk, padding)
    ),
    "attention_mask.chunk_one_less": altered(attention_mask, chunk=lambda chunk: max(chunk - 1, 1)),
    "attention_mask.chunk_as_window": steps(
        in_chunk=lambda k, p, chunk, _padding: in_window(k, p, (chunk - 1, chunk - 1))
    ),
    "attention_mask.chunk_of_index": steps(in_chunk=by_index(in_chunk)),
    "attention_mask.chunk_as_number": as_many_chunks,
    "attention_mask.chunk_dropped_in_decoding": ignoring_where(attention_mask, one_query, "chunk"),
    "attention_mask.chunk_and_the_one_before": steps(in_chunk=previous_chunk_too),
    "attention_mask.chunk_padding_ignored": steps(in_chunk=from_first_key),
    "attention_mask.chunk_padding_of_first_entry": steps(
        in_chunk=lambda k, p, chunk, padding: in_chunk(k, p, chunk, padding[:1])
    ),
    "attention_mask.chunk_padding_added": steps(in_chunk=lambda k, p, chunk, padding: in_chunk(k, p, chunk, -padding)),
    "attention_mask.chunk_cut_towards_zero": steps(in_chunk=cut_towards_zero),
    "attention_mask.chunk_left_out_where_keys_fit": ignoring_where(
        attention_mask, lambda given: length_of_keys(given) <= (given.get("chunk") or 0), "chunk"
    ),
    "attention_mask.chunk_replaces_causality": replacing_causality("chunk"),
    "attention_mask.chunk_always_causal": on_calls(
        attention_mask,
        lambda given: given.get("chunk") is not None,
        lambda **given: right(**{**given, "is_causal": True}),
    ),
    "attention_mask.prefix_ignored": ignoring(attention_mask, "prefix_lengths"),
    "attention_mask.prefix_inclusive": steps(in_prefix=prefix_inclusive),
    "attention_mask.prefix_of_first_entry": of_first("prefix_lengths"),
    "attention_mask.prefix_of_longest_entry": steps(in_prefix=longest_prefix),
    "attention_mask.prefix_queries_see_all": queries_of_prefix_see_all,
    "attention_mask.prefix_everywhere": on_calls(
        attention_mask,
        lambda given: "prefix_lengths" in given and bool(np.any(given["prefix_lengths"])),
        ignoring(attention_mask, "is_causal"),
    ),
    "attention_mask.prefix_behind_padding": prefix_behind_padding,
    "attention_mask.prefix_without_causality": prefix_without_causality,
    "attention_mask.prefix_across_windows": widened(("window", "chunk")),
    "attention_mask.prefix_across_documents": widened(("query_documents", "key_documents")),
    "attention_mask.prefix_across_padding": widened(("key_lengths", "left_padding")),
    "attention_mask.prefix_across_blocks": widened(("attended_blocks", "attended_block_size", "parents")),
    "attention_mask.any_rule": written_anew(any_rule),
    "attention_mask.first_rule_alone": one_rule(0),
    "attention_mask.last_rule_alone": one_rule(-1),
}
