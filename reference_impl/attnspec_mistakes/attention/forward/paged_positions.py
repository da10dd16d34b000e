"""What goes wrong in paged attention beside the pages: owners, positions, reading."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import (
    Positions,
    attend_at,
    by_list,
    by_table,
    in_pages,
    own_positions,
    placing,
    reading_pages,
)
from attnspec_mistakes.attention.forward.paged_tables import in_flat_pool
from attnspec_mistakes.misread_memory import as_it_lies_in_memory, read_forwards
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import altered
from attnspec_reference.attention.attention_logits import is_boolean
from attnspec_reference.attention.served_attention import (
    ServedAttention,
    alone,
    attend_to_pages,
    columns_of,
    paged_attention,
    paged_attention_by_list,
    pages_needed,
    read_in_order,
)
from attnspec_reference.precision import Array, Integers, result_dtype


def without(keep: Callable[[list[Integers]], list[list[bool]]]) -> Callable[..., ServedAttention]:
    """Make an `attend_to_pages` that reads zeros for some pages of each sequence."""

    def attend(
        query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
    ) -> ServedAttention:
        cleared = [np.concatenate([pool, np.zeros_like(pool[:1])]) for pool in (key_pool, value_pool)]
        read = [
            np.where(kept, own, len(key_pool)).astype(np.int64) for own, kept in zip(pages, keep(pages), strict=True)
        ]
        return attend_to_pages(query, cleared[0], cleared[1], read, key_lengths, **others)

    return attend


def first_owners_alone(pages: list[Integers]) -> list[list[bool]]:
    """Keep a page for the first sequence that has it."""
    taken: set[int] = set()
    kept: list[list[bool]] = []
    for own in pages:
        kept.append([page not in taken for page in own.tolist()])
        taken |= set(own.tolist())
    return kept


def prefix_without_positions(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Let every query attend to all pages that all sequences begin with, whatever causality and window say."""
    right = attend_to_pages(query, key_pool, value_pool, pages, key_lengths, **others)
    size = key_pool.shape[1]
    full = min((length // size for length in key_lengths), default=0)
    shared = 0
    while shared < full and len({int(own[shared]) for own in pages}) == 1:
        shared += 1
    tokens = shared * size
    if len(pages) < 2 or not tokens:
        return right
    given = dict(others)
    lengths, mask = given.pop("query_lengths", None), given.pop("mask", None)
    output, logsumexp = right.output.copy(), right.logsumexp.copy()
    counted = [query.shape[2]] * len(pages) if lengths is None else np.asarray(lengths).tolist()
    for entry, (own, queries, keys) in enumerate(zip(pages, counted, key_lengths, strict=True)):
        of_queries, of_keys = own_positions(queries, keys, given.get("causal_alignment", "top_left"))
        for token in range(queries):
            # The prefix stands where the query does: neither ahead of it nor beyond a window.
            moved = np.where(of_keys < tokens, of_queries[token], of_keys)
            attention = attend_at(
                query[entry : entry + 1, :, token : token + 1],
                alone(read_in_order(key_pool, own[: pages_needed(keys, size)], keys)),
                alone(read_in_order(value_pool, own[: pages_needed(keys, size)], keys)),
                (of_queries[token : token + 1], moved),
                mask=columns_of(mask, keys),
                **given,
            )
            output[entry, :, token] = attention.output[0, :, 0]
            logsumexp[entry, :, token] = attention.logsumexp[0, :, 0]
    return right._replace(output=output, logsumexp=logsumexp)


def keys_placed(change: Callable[[Integers, Integers, int], Integers]) -> Callable[..., Positions]:
    """Position keys in another way, by their index, the pages of the sequence and the page size."""

    def positions(pages: Integers, size: int, counted: list[int], lengths: list[int], *rest: Any) -> Positions:
        entry, alignment = rest
        queries, keys = own_positions(counted[entry], lengths[entry], alignment)
        return queries, change(keys, np.asarray(pages), size)

    return positions


def queries_aligned(keys_of: Callable[[list[int], int, int], int]) -> Callable[..., Positions]:
    """Align queries as if there were another number of keys, by all lengths, that of the sequence and the page size."""

    def positions(_pages: Integers, size: int, counted: list[int], lengths: list[int], *rest: Any) -> Positions:
        entry, alignment = rest
        queries, _ = own_positions(counted[entry], keys_of(lengths, lengths[entry], size), alignment)
        return queries, np.arange(int(lengths[entry]))

    return positions


in_the_pool = keys_placed(lambda keys, pages, size: pages[keys // size] * size + keys % size)


def only(positions: Callable[..., Positions], argument: str) -> Callable[..., ServedAttention]:
    """Make a mistake of positions that one feature alone makes; without it, everything stands where it should."""
    wrong = placing(positions)

    def attend(*positional: Any, **arguments: Any) -> ServedAttention:
        given = arguments.get(argument)
        concerned = given is not None and given is not False
        return (wrong if concerned else attend_to_pages)(*positional, **arguments)

    return attend


def one_mask_for_all(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Exclude in every sequence the keys that causality and window exclude in the first one."""

    def positions(
        _pages: Integers, _size: int, counted: list[int], lengths: list[int], entry: int, alignment: str
    ) -> Positions:
        queries, _ = own_positions(counted[0], lengths[0], alignment)
        return np.resize(queries, counted[entry]), np.arange(lengths[entry])

    return placing(positions)(query, key_pool, value_pool, pages, key_lengths, **others)


def slot_in_sixteen_bits(pages: Integers, token: int, size: int) -> int:
    """Find the slot in the pool in 16 bits, which wrap."""
    return int(np.int64(int(pages[token // size]) * size + token % size).astype(np.uint16))


def skipping(change: Callable[[dict[str, Any], int, Array, Array], None]) -> Callable[..., ServedAttention]:
    """Make an `attend_to_pages` that skips pages before a window, and counts something from the first one it reads."""

    def attend(
        query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
    ) -> ServedAttention:
        batch, heads, tokens, _ = query.shape
        query_lengths = others.pop("query_lengths", None)
        counted = [tokens] * batch if query_lengths is None else np.asarray(query_lengths).tolist()
        output = np.zeros((batch, heads, tokens, value_pool.shape[3]), dtype=result_dtype(query))
        logsumexp = np.full((batch, heads, tokens), -np.inf, dtype=result_dtype(query))
        left = (others.get("window") or (None, None))[0]
        for entry, (own, queries, keys) in enumerate(zip(pages, counted, key_lengths, strict=True)):
            given, size = dict(others), key_pool.shape[1]
            of_queries, of_keys = own_positions(queries, keys, given.get("causal_alignment", "top_left"))
            if left is not None and queries and keys:
                skipped = min(max(0, int(of_queries[0]) - left), keys) // size * size
                change(given, skipped, of_queries, of_keys)
            alone = attend_to_pages(query[entry : entry + 1, :, :queries], key_pool, value_pool, [own], [keys], **given)
            output[entry, :, :queries] = alone.output[0]
            logsumexp[entry, :, :queries] = alone.logsumexp[0]
        return ServedAttention(output, logsumexp)

    return attend


def mask_from_first_page(given: dict[str, Any], skipped: int, _queries: Array, of_keys: Array) -> None:
    """Count the columns of the mask from the first page that is read."""
    if given.get("mask") is not None:
        given["mask"] = np.asarray(given["mask"])[..., np.maximum(of_keys - skipped, 0)]


def distances_from_first_page(given: dict[str, Any], skipped: int, of_queries: Array, of_keys: Array) -> None:
    """Take distances to where keys stand behind the first page that is read."""
    slopes, mask = given.get("alibi_slopes"), given.get("mask")
    if slopes is None:
        return
    ahead = of_queries[:, np.newaxis] - of_keys
    farther = np.abs(ahead + skipped) - np.abs(ahead)
    bias = -np.asarray(slopes)[:, np.newaxis, np.newaxis] * farther
    if mask is not None:
        columns = np.asarray(mask)[..., : len(of_keys)]
        columns = columns[0] if columns.ndim == 4 else columns
        bias = np.where(columns, bias, -np.inf) if is_boolean(columns) else bias + columns
    given["mask"] = bias.astype(np.asarray(slopes).dtype)


def sinks_beside_first_page(given: dict[str, Any], skipped: int, _queries: Array, _keys: Array) -> None:
    """Leave the sinks out where the first page is not read, beside which they join."""
    if skipped:
        given.pop("sinks", None)


def window_pages_from_their_beginning(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Read as many pages as a window fills, for a query by itself."""
    size, left = key_pool.shape[1], (others.get("window") or (None, None))[0]
    if query.shape[2] != 1 or left is None:
        return attend_to_pages(query, key_pool, value_pool, pages, key_lengths, **others)
    read: list[int] = []
    for own, keys in zip(pages, key_lengths, strict=True):
        of_queries, _ = own_positions(1, keys, others.get("causal_alignment", "top_left"))
        first = max(int(of_queries[0]) - left, 0) // size if len(own) else 0
        read.append(min(keys, (first + pages_needed(left + 1, size)) * size))

    def positions(_pages: Integers, _size: int, counted: list[int], _read: list[int], *rest: Any) -> Positions:
        entry, alignment = rest
        queries, keys = own_positions(counted[entry], key_lengths[entry], alignment)
        return queries, keys[: read[entry]]

    return placing(positions)(query, key_pool, value_pool, pages, read, **others)


def slot_in_seven_bits(pages: Integers, token: int, size: int) -> int:
    """Find the slot in a page in seven bits."""
    return int(pages[token // size]) * size + (token % size & 127)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.shared_page_of_first_alone": reading_pages(without(first_owners_alone)),
    "sdpa.shared_prefix_attended_whole": reading_pages(prefix_without_positions),
    "sdpa.page_zero_as_filler": reading_pages(
        without(lambda pages: [[page != 0 for page in own.tolist()] for own in pages])
    ),
    "sdpa.causal_by_place_in_pool": reading_pages(only(in_the_pool, "is_causal")),
    "sdpa.window_by_place_in_pool": reading_pages(only(in_the_pool, "window")),
    "sdpa.alibi_by_place_in_pool": reading_pages(only(in_the_pool, "alibi_slopes")),
    "sdpa.positions_anew_in_each_page": reading_pages(placing(keys_placed(lambda keys, _pages, size: keys % size))),
    "sdpa.aligned_at_the_longest": reading_pages(placing(queries_aligned(lambda lengths, _own, _size: max(lengths)))),
    "sdpa.aligned_at_the_page_end": reading_pages(
        placing(queries_aligned(lambda _lengths, own, size: -(-own // size) * size))
    ),
    "sdpa.paged_mask_of_first_sequence": reading_pages(one_mask_for_all),
    "sdpa.table_read_as_it_lies": by_table(altered(paged_attention, block_table=as_it_lies_in_memory)),
    "sdpa.list_read_forwards": by_list(
        altered(
            paged_attention_by_list,
            page_starts=read_forwards,
            page_indices=read_forwards,
            last_page_length=read_forwards,
        )
    ),
    "sdpa.pools_read_as_they_lie": {
        **by_table(altered(paged_attention, key_pool=as_it_lies_in_memory, value_pool=as_it_lies_in_memory)),
        **by_list(altered(paged_attention_by_list, key_pool=as_it_lies_in_memory, value_pool=as_it_lies_in_memory)),
    },
    "sdpa.slots_in_sixteen_bits": in_pages(read_in_order=in_flat_pool(slot_in_sixteen_bits)),
    "sdpa.pages_in_eight_bits": in_pages(
        read_in_order=in_flat_pool(lambda pages, token, size: int(pages[token // size]) % 256 * size + token % size)
    ),
    "sdpa.mask_from_first_page_read": reading_pages(skipping(mask_from_first_page)),
    "sdpa.distances_from_first_page_read": reading_pages(skipping(distances_from_first_page)),
    "sdpa.sinks_beside_first_page_alone": reading_pages(skipping(sinks_beside_first_page)),
    "sdpa.window_pages_from_their_beginning": reading_pages(window_pages_from_their_beginning),
    "sdpa.slot_in_seven_bits": in_pages(read_in_order=in_flat_pool(slot_in_seven_bits)),
}
