"""What goes wrong in the past and in the lengths of sequences: caches and padding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure, exchanging, ignoring, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array, Booleans, Integers

OPERATION = "scaled_dot_product_attention"


def past_behind(past: ArrayLike | None, new: ArrayLike) -> Array:
    """Put the past after the new tokens."""
    return np.array(new) if past is None else np.concatenate([np.asarray(new), np.asarray(past)], axis=2)


def of_first_entry(array: Array) -> Array:
    """Give every batch entry what the first one has."""
    return np.array(np.broadcast_to(array[:1], array.shape))


def present_without_past(**arguments: Any) -> Attention:
    """Return the new keys and values alone."""
    attention = scaled_dot_product_attention(**arguments)
    return attention._replace(present_key=np.array(arguments["key"]), present_value=np.array(arguments["value"]))


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


def answered_at_the_end(query_length: int, query_lengths: Integers) -> Booleans:
    """Take the last queries for the ones that count."""
    return at_the_end(query_length, query_lengths).swapaxes(-1, -2)


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


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.past_appended",
        clause="sdpa.past.concatenation",
        sentence="The past was put after the new tokens instead of before them.",
        engineer="The cache is concatenated in the wrong order: (new, past).",
        remedy="Concatenate past_key and key, past_value and value, the past first.",
        function=departure(scaled_dot_product_attention, prepend_past=past_behind),
    ),
    mistake(
        id="sdpa.past_ignored",
        clause="sdpa.past.concatenation",
        sentence="The past was ignored: queries attended to the new keys only.",
        engineer="The cache operands are not bound on this path.",
        remedy="Put past_key before key, and past_value before value.",
        function=ignoring(scaled_dot_product_attention, "past_key", "past_value"),
        source="https://github.com/gittensor-ai-lab/sparkinfer/issues/3",
    ),
    mistake(
        id="sdpa.past_of_first_entry",
        clause="sdpa.past.concatenation",
        sentence="Every batch entry was given the past of the first one.",
        engineer="The batch stride of the cache is taken as 0.",
        remedy="Concatenate the past of each batch entry with its own new tokens.",
        function=altered(scaled_dot_product_attention, past_key=of_first_entry, past_value=of_first_entry),
    ),
    mistake(
        id="sdpa.present_without_past",
        clause="sdpa.past.present",
        sentence="present_key and present_value hold the new tokens only.",
        engineer="The present outputs alias the new keys and values instead of the concatenated cache.",
        remedy="Return past and new tokens together, the past first.",
        function=present_without_past,
        source="https://github.com/microsoft/onnxruntime/issues/26262",
    ),
    mistake(
        id="sdpa.present_key_scaled",
        clause="sdpa.past.present",
        sentence="present_key holds keys that the scale has already been multiplied into.",
        engineer="The pre-scaled key buffer is written to the cache, so the next step scales it twice.",
        remedy="Return the keys as they were given.",
        function=present_key_scaled,
    ),
    mistake(
        id="sdpa.key_lengths_ignored",
        clause="sdpa.key_lengths.exclusion",
        sentence="The argument key_lengths was ignored: padding took part in the softmax.",
        engineer="The per-batch key length is not read: padded keys are attended.",
        remedy="Exclude the keys from number L on in each batch entry.",
        function=ignoring(scaled_dot_product_attention, "key_lengths"),
        source="https://github.com/deepspeedai/DeepSpeed/issues/1967",
    ),
    mistake(
        id="sdpa.key_length_of_first_entry",
        clause="sdpa.key_lengths.exclusion",
        sentence="Every batch entry was cut to the length of the first one.",
        engineer="The length array is read at index 0 for every batch entry.",
        remedy="Read the length of each batch entry from its own element of key_lengths.",
        function=with_key_lengths(lambda lengths, _arguments: np.full_like(lengths, lengths[:1].sum())),
        source="https://github.com/Tencent-Hunyuan/HunyuanVideo/pull/310",
    ),
    mistake(
        id="sdpa.key_length_one_more",
        clause="sdpa.key_lengths.exclusion",
        sentence="One key too many was attended to: key number L counted.",
        engineer="The bound is col <= length where col < length is due.",
        remedy="Keep the keys 0 to L - 1.",
        function=with_key_lengths(lambda lengths, _arguments: lengths + 1),
        source="https://github.com/tenstorrent/tt-metal/issues/41215",
    ),
    mistake(
        id="sdpa.key_length_one_short",
        clause="sdpa.key_lengths.exclusion",
        sentence="One key too few was attended to: key number L - 1 was left out.",
        engineer="The length is read as an index of the last key, or passed as total - 1.",
        remedy="Keep the keys 0 to L - 1.",
        function=with_key_lengths(lambda lengths, _arguments: lengths - 1),
    ),
    mistake(
        id="sdpa.key_lengths_cumulated",
        clause="sdpa.key_lengths.exclusion",
        sentence="The lengths were added up: each batch entry was cut at the sum of all lengths so far.",
        engineer="Lengths are taken for cumulative offsets (cu_seqlens), or turned into them.",
        remedy="Take each element of key_lengths for the length of its own batch entry.",
        function=with_key_lengths(lambda lengths, _arguments: np.cumsum(lengths)),
        source="https://github.com/GeeeekExplorer/nano-vllm/pull/213",
    ),
    mistake(
        id="sdpa.padding_at_the_start",
        clause="sdpa.key_lengths.exclusion",
        sentence="The padding was looked for at the start of each sequence; it is at the end.",
        engineer="Left padding is assumed: the last L tokens are kept instead of the first L.",
        remedy="Keep the first L keys and the first N queries of each batch entry.",
        function=departure(scaled_dot_product_attention, within_length=at_the_end),
        source="https://github.com/OpenNMT/OpenNMT-py/pull/2589",
    ),
    mistake(
        id="sdpa.padding_zeroed",
        clause="sdpa.key_lengths.exclusion",
        sentence="Padded keys were set to zero instead of being excluded; a score of 0 still gets weight.",
        engineer="The padded tail is zero-filled and not masked, so exp(0 - max) enters the row sum.",
        remedy="Set the scores of padded keys to minus infinity.",
        function=padding_zeroed,
        source="https://github.com/tenstorrent/tt-metal/issues/54833",
    ),
    mistake(
        id="sdpa.cut_keys_padded_with_zeros",
        clause="sdpa.key_lengths.exclusion",
        sentence="Logits and scores of keys behind the longest sequence are 0.",
        engineer="K and V are sliced to max(key_lengths), and the debug outputs are zero-padded back to Sk.",
        remedy="Give excluded keys logits of minus infinity, and every key its score.",
        function=cut_and_padded,
    ),
    mistake(
        id="sdpa.lengths_swapped",
        clause="sdpa.key_lengths.exclusion",
        sentence="The lengths of queries and keys were swapped.",
        engineer="The two length operands are bound in the wrong order.",
        remedy="Cut keys by key_lengths and queries by query_lengths.",
        function=exchanging(scaled_dot_product_attention, ("key_lengths", "query_lengths")),
    ),
    mistake(
        id="sdpa.query_lengths_hide_keys",
        clause="sdpa.query_lengths.rows",
        sentence="Keys were cut to the number of queries that count.",
        engineer="One length array serves both loops, so the shorter one bounds the keys.",
        remedy="Let query_lengths decide which rows count, and nothing else.",
        function=with_key_lengths(no_longer_than_queries),
    ),
    mistake(
        id="sdpa.query_padding_at_the_start",
        clause="sdpa.query_lengths.rows",
        sentence="The queries that do not count were looked for at the start of each sequence; they are at the end.",
        engineer="Left padding is assumed for the rows: the last N queries are kept instead of the first N.",
        remedy="Keep the first N queries of each batch entry.",
        function=departure(scaled_dot_product_attention, answered_queries=answered_at_the_end),
    ),
)
