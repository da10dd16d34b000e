"""What goes wrong where tokens of all sequences are packed: where sequences begin, and what they count from."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import Positions, attend_at
from attnspec_mistakes.mistake import Making
from attnspec_reference.attention.served_attention import (
    ServedAttention,
    alone,
    columns_of,
    each_sequence,
    packed_attention,
)
from attnspec_reference.precision import Array, Integers, result_dtype

Cut = tuple[slice, slice]
"""Which queries and which keys a sequence has."""


def cutting(cut: Callable[[list[slice], list[slice]], list[Cut]]) -> Callable[..., ServedAttention]:
    """Make a packed attention that takes other tokens for those of a sequence; positions follow from what it takes."""
    return attending(cut, local)


def attending(
    cut: Callable[[list[slice], list[slice]], list[Cut]], position: Callable[[slice, slice, int, int, str], Positions]
) -> Callable[..., ServedAttention]:
    """Make a packed attention from which tokens a sequence has, and where they stand.

    `cut` has the queries and keys that are right; `position` those that were cut, all numbers, and the alignment.
    """

    def attend(
        query: Array, key: Array, value: Array, query_starts: Array, key_starts: Array, **others: Any
    ) -> ServedAttention:
        tokens, heads, _ = query.shape
        mask = others.pop("mask", None)
        alignment = others.get("causal_alignment", "top_left")
        output = np.zeros((tokens, heads, value.shape[2]), dtype=result_dtype(query))
        logsumexp = np.zeros((tokens, heads), dtype=result_dtype(query))
        for own, keys in cut(each_sequence(query_starts), each_sequence(key_starts)):
            queries = slice(*own.indices(tokens))
            own_keys = slice(*keys.indices(len(key)))
            attention = attend_at(
                alone(query[queries]),
                alone(key[own_keys]),
                alone(value[own_keys]),
                position(queries, own_keys, tokens, len(key), alignment),
                mask=columns_of(mask, max(own_keys.stop - own_keys.start, 0)),
                **others,
            )
            output[queries] = attention.output[0].swapaxes(0, 1)
            logsumexp[queries] = attention.logsumexp[0].swapaxes(0, 1)
        return ServedAttention(output, logsumexp)

    return attend


def right(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Cut as is right."""
    return list(zip(queries, keys, strict=True))


def counted(part: slice) -> int:
    """Count the tokens of a part."""
    return max(part.stop - part.start, 0)


def local(queries: slice, keys: slice, _all_queries: int, _all_keys: int, alignment: str) -> Positions:
    """Position tokens as is right: by their own sequence."""
    offset = counted(keys) - counted(queries) if alignment == "bottom_right" else 0
    return np.arange(counted(queries)) + offset, np.arange(counted(keys))


def by_the_whole(queries: slice, keys: slice, all_queries: int, all_keys: int, alignment: str) -> Positions:
    """Position tokens by their positions among those of all sequences."""
    offset = all_keys - all_queries if alignment == "bottom_right" else 0
    return positions_of(queries) + offset, positions_of(keys)


def aligned_by_the_whole(queries: slice, keys: slice, all_queries: int, all_keys: int, alignment: str) -> Positions:
    """Align the queries of a sequence by the numbers of all queries and keys."""
    offset = all_keys - all_queries if alignment == "bottom_right" else 0
    return np.arange(counted(queries)) + offset, np.arange(counted(keys))


def keys_by_the_whole(queries: slice, keys: slice, all_queries: int, all_keys: int, alignment: str) -> Positions:
    """Position queries by their own sequence, and keys by their positions among those of all."""
    return local(queries, keys, all_queries, all_keys, alignment)[0], positions_of(keys)


def positions_of(part: slice) -> Integers:
    """Return the positions of a part among the tokens of all sequences."""
    return np.arange(int(counted(part))) + int(part.start)


def keys_moved(before: int, behind: int) -> Callable[..., ServedAttention]:
    """Make a packed attention whose keys begin and end so many tokens later."""
    return cutting(
        lambda queries, keys: [
            (own, slice(part.start + before, part.stop + behind)) for own, part in zip(queries, keys, strict=True)
        ]
    )


def of_longest(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Give every sequence as many keys as the longest one has."""
    most = max(map(counted, keys), default=0)
    return [(own, slice(part.start, part.start + most)) for own, part in zip(queries, keys, strict=True)]


def keys_where_queries_are(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Look for the keys of a sequence where its queries stand."""
    del keys
    return [(own, own) for own in queries]


def queries_where_keys_are(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Look for the queries of a sequence where its keys stand."""
    del queries
    return [(part, part) for part in keys]


def keys_from_the_first(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Begin the keys of every sequence at the first token."""
    return [(own, slice(0, counted(part))) for own, part in zip(queries, keys, strict=True)]


def keys_cumulated(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Give each sequence the keys of those before it, too."""
    return [(own, slice(0, part.stop)) for own, part in zip(queries, keys, strict=True)]


def empty_given_the_one_before(
    query: Array, key: Array, value: Array, query_starts: Array, key_starts: Array, **others: Any
) -> ServedAttention:
    """Leave in the rows of a sequence without keys what the row before them holds, or the last one."""
    attention = packed_attention(query, key, value, query_starts, key_starts, **others)
    output = attention.output.copy()
    lengths = [end - start for start, end in pairwise(np.asarray(key_starts).tolist())]
    for own, length in zip(each_sequence(query_starts), lengths, strict=True):
        if length == 0 and counted(own):
            output[own] = output[own.start - 1]
    return attention._replace(output=output)


def empty_skipped(
    query: Array, key: Array, value: Array, query_starts: Array, key_starts: Array, **others: Any
) -> ServedAttention:
    """Leave sequences without queries out, and number the others anew beside the keys of all."""
    starts = np.asarray(query_starts).tolist()
    full = [own for own in each_sequence(starts) if counted(own)]
    kept = [0, *(own.stop for own in full)]
    return packed_attention(query, key, value, np.array(kept), np.asarray(key_starts)[: len(kept)], **others)


def heads_before_tokens(**arguments: Any) -> ServedAttention:
    """Write the output with heads before tokens, into memory that is read with tokens first."""
    output, logsumexp = packed_attention(**arguments)
    return ServedAttention(np.ascontiguousarray(output.swapaxes(0, 1)).reshape(output.shape), logsumexp)


def logsumexp_heads_before_tokens(**arguments: Any) -> ServedAttention:
    """Write the logsumexp with heads before tokens, into memory that is read with tokens first."""
    output, logsumexp = packed_attention(**arguments)
    return ServedAttention(output, np.ascontiguousarray(logsumexp.swapaxes(0, 1)).reshape(logsumexp.shape))


def first_token_before(
    query: Array, key: Array, value: Array, query_starts: Array, key_starts: Array, **others: Any
) -> ServedAttention:
    """Count each token at a start to the sequence before; the first of all has none."""

    def moved(starts: Array, tokens: int) -> Array:
        found = np.searchsorted(np.asarray(starts), np.arange(tokens), side="left") - 1
        return np.searchsorted(np.maximum(found, 0), np.arange(len(starts)), side="left")

    return packed_attention(query, key, value, moved(query_starts, len(query)), moved(key_starts, len(key)), **others)


def one_query_each(queries: list[slice], keys: list[slice]) -> list[Cut]:
    """Give each sequence one query where there are as many of these as sequences."""
    if not queries or queries[-1].stop != len(queries):
        return right(queries, keys)
    return [(slice(position, position + 1), part) for position, part in enumerate(keys)]


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.packed_starts_one_later": {"packed": keys_moved(1, 1)},
    "sdpa.packed_end_inclusive": {"packed": keys_moved(0, 1)},
    "sdpa.packed_last_key_dropped": {"packed": keys_moved(0, -1)},
    "sdpa.packed_first_token_before": {"packed": first_token_before},
    "sdpa.packed_query_starts_for_keys": {"packed": cutting(keys_where_queries_are)},
    "sdpa.packed_key_starts_for_queries": {"packed": cutting(queries_where_keys_are)},
    "sdpa.packed_not_separated": {
        "packed": cutting(
            lambda queries, keys: [] if not queries else [(slice(0, queries[-1].stop), slice(0, keys[-1].stop))]
        )
    },
    "sdpa.packed_as_long_as_the_longest": {"packed": cutting(of_longest)},
    "sdpa.packed_keys_from_the_beginning": {"packed": cutting(keys_from_the_first)},
    "sdpa.packed_keys_cumulated": {"packed": cutting(keys_cumulated)},
    "sdpa.packed_positions_go_on": {"packed": attending(right, by_the_whole)},
    "sdpa.packed_aligned_by_the_whole": {"packed": attending(right, aligned_by_the_whole)},
    "sdpa.packed_key_positions_go_on": {"packed": attending(right, keys_by_the_whole)},
    "sdpa.packed_empty_given_another": {"packed": empty_given_the_one_before},
    "sdpa.packed_empty_not_counted": {"packed": empty_skipped},
    "sdpa.packed_output_heads_first": {"packed": heads_before_tokens},
    "sdpa.packed_logsumexp_heads_first": {"packed": logsumexp_heads_before_tokens},
    "sdpa.packed_one_query_each": {"packed": cutting(one_query_each)},
}
