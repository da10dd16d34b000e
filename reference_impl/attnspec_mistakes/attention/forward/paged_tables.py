"""What goes wrong in paged attention: pages, their size, the table or the list that names them."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_patches import by_list, by_table, in_pages, reading_pages
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, patch
from attnspec_reference.attention.served_attention import (
    ServedAttention,
    attend_to_pages,
    paged_attention,
    paged_attention_by_list,
    pages_needed,
    read_in_order,
)
from attnspec_reference.precision import Array, Integers


def table_rows(change: Callable[[Array], Array]) -> Mapping[str, Computation]:
    """Make a mistake of reading the table, in both layouts with one."""
    return by_table(altered(paged_attention, block_table=change))


def table_lengths(change: Callable[[dict[str, Any]], Any]) -> Mapping[str, Computation]:
    """Make a mistake of how many keys there are, in both layouts with a table."""

    def attend(**arguments: Any) -> ServedAttention:
        table, size = np.asarray(arguments["block_table"]), np.shape(arguments["key_pool"])[1]
        lengths = np.minimum(change(arguments), table.shape[1] * size)
        return paged_attention(**{**arguments, "key_lengths": lengths})

    return by_table(attend)


def page_size_of(arguments: dict[str, Any]) -> int:
    """Return the page size of pools with tokens first."""
    return int(np.shape(arguments["key_pool"])[1])


def by_page(change: Callable[[Integers, int], Integers]) -> Mapping[str, Computation]:
    """Make a mistake of how many keys there are, from how many there are and the page size."""
    return table_lengths(lambda given: change(np.asarray(given["key_lengths"]), page_size_of(given)))


def as_many_as_queries(arguments: dict[str, Any]) -> Integers:
    """Take the number of queries of each sequence for that of its keys."""
    queries = arguments.get("query_lengths")
    if queries is None:
        queries = np.full(len(arguments["query"]), int(np.shape(arguments["query"])[2]))
    return np.asarray(queries)


def whole_row(arguments: dict[str, Any]) -> Integers:
    """Count every slot of every page that a row lists."""
    batch, most = np.shape(arguments["block_table"])
    return np.full(int(batch), int(most) * page_size_of(arguments))


def in_flat_pool(number_of: Callable[[Integers, int, int], Integers | int]) -> Callable[[Array, Integers, int], Array]:
    """Make a reading of a pool that is taken for one row of tokens, by a formula for the number of a token."""

    def read(pool: Array, pages: Integers, length: int) -> Array:
        flat = pool.reshape(-1, *pool.shape[2:])
        numbers = [int(number_of(pages, token, pool.shape[1])) % max(len(flat), 1) for token in range(length)]
        return flat[np.array(numbers, dtype=np.int64)]

    return read


def after_the_first(pages: Integers, token: int, size: int) -> int:
    """Go on behind the first page, as if the others followed it in the pool."""
    return int(pages[0]) * size + token


def by_shifted_bits(pages: Integers, token: int, size: int) -> int:
    """Find page and slot by shifting and masking bits, as if the page size were a power of two."""
    bits = size.bit_length() - 1
    return int(pages[min(token >> bits, len(pages) - 1)]) * size + (token & ((1 << bits) - 1))


def slot_by_masked_bits(pages: Integers, token: int, size: int) -> int:
    """Find the slot by masking bits, as if the page size were a power of two."""
    return int(pages[token // size]) * size + (token & ((1 << (size.bit_length() - 1)) - 1))


def memory_as_heads_first(pool: Array) -> Array:
    """Take memory that holds tokens before heads for memory that holds heads before tokens."""
    pages, size, heads, width = np.shape(pool)
    return np.ascontiguousarray(pool).reshape(pages, heads, size, width).swapaxes(1, 2)


def memory_as_tokens_first(pool: Array) -> Array:
    """Take memory that holds heads before tokens for memory that holds tokens before heads."""
    pages, heads, size, width = np.shape(pool)
    return np.ascontiguousarray(pool).reshape(pages, size, heads, width)


def values_after_the_first(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Look keys up in the table, and values behind the first page."""
    read = in_flat_pool(after_the_first)
    size = key_pool.shape[1]
    copied = value_pool.copy()
    for own, length in zip(pages, key_lengths, strict=True):
        for token, value in enumerate(read(value_pool, own, length) if length else ()):
            copied[own[token // size], token % size] = value
    return attend_to_pages(query, key_pool, copied, pages, key_lengths, **others)


def tail_weighed(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Multiply the slots behind the last key by weights of 0 instead of leaving them out."""
    right = attend_to_pages(query, key_pool, value_pool, pages, key_lengths, **others)
    output, size = right.output.copy(), value_pool.shape[1]
    group = query.shape[1] // max(value_pool.shape[2], 1)
    for entry, length in enumerate(key_lengths):
        if length % size:
            behind = value_pool[pages[entry][length // size], length % size :]
            nothing = np.repeat((0 * behind).sum(axis=0), group, axis=0)
            output[entry] = output[entry] + nothing[:, np.newaxis]
    return right._replace(output=output)


def empty_given_the_one_before(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Leave in the rows of a sequence without keys what the one before, or the last one, has left there."""
    right = attend_to_pages(query, key_pool, value_pool, pages, key_lengths, **others)
    output = right.output.copy()
    for entry, length in enumerate(key_lengths):
        if length == 0:
            output[entry] = output[entry - 1]
    return right._replace(output=output)


def parts_of_list(cut: Callable[[list[int]], list[slice]]) -> Mapping[str, Computation]:
    """Make a mistake of which part of the list belongs to a sequence."""
    return by_list(patch(paged_attention_by_list, each_sequence=lambda starts: cut(starts.tolist())))


def last_lengths(change: Callable[[Array, int], Array]) -> Mapping[str, Computation]:
    """Make a mistake of how many keys the last page holds, but never of more than it has slots."""

    def attend(**arguments: Any) -> ServedAttention:
        size = int(np.shape(arguments["key_pool"])[1])
        changed = np.clip(change(np.asarray(arguments["last_page_length"]), size), 0, size)
        return paged_attention_by_list(**{**arguments, "last_page_length": changed})

    return by_list(attend)


def each_as_long_as_the_last(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Read from every page as many keys as the last one holds."""
    size = key_pool.shape[1]
    last_counts = [(length - 1) % size + 1 for length in key_lengths]
    cut: list[Integers] = []
    count = 0
    keys, values = [key_pool], [value_pool]
    for own, last in zip(pages, last_counts, strict=True):
        tokens = [(page, slot) for page in own.tolist() for slot in range(last)]
        number = -(-len(tokens) // size)
        for pool, parts in ((key_pool, keys), (value_pool, values)):
            joined = np.zeros((number * size, *pool.shape[2:]), dtype=pool.dtype)
            for index, (page, slot) in enumerate(tokens):
                joined[index] = pool[page, slot]
            parts.append(joined.reshape(number, size, *pool.shape[2:]))
        cut.append(len(key_pool) + count + np.arange(int(number)))
        count += number
    lengths = [len(own) * last for own, last in zip(pages, last_counts, strict=True)]
    return attend_to_pages(query, np.concatenate(keys), np.concatenate(values), cut, lengths, **others)


def with_a_foreign_page(**arguments: Any) -> ServedAttention:
    """Read the last page of a sequence that has none: the page that follows in the list, which is another's."""
    starts = np.asarray(arguments["page_starts"]).tolist()
    parts = [slice(start, max(end, start + 1)) for start, end in pairwise(starts)]
    return patch(paged_attention_by_list, each_sequence=lambda _starts: parts)(**arguments)


def length_without_a_page(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Attend to zeros for as many keys as a sequence without pages is said to have."""
    cleared = [np.concatenate([pool, np.zeros_like(pool[:1])]) for pool in (key_pool, value_pool)]
    size = key_pool.shape[1]
    read = [
        own if len(own) else np.full(max(pages_needed(length, size), 0), len(key_pool))
        for own, length in zip(pages, key_lengths, strict=True)
    ]
    return attend_to_pages(query, cleared[0], cleared[1], read, [max(length, 0) for length in key_lengths], **others)


def counted_from_one_page_less(pages: list[Integers], page_size: int, last_page_length: Array) -> list[int]:
    """Count the full pages and the last one, also where there is none."""
    return [(len(own) - 1) * page_size + int(last) for own, last in zip(pages, last_page_length, strict=True)]


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.pages_in_pool_order": in_pages(
        read_in_order=lambda pool, pages, length: read_in_order(
            pool, np.sort(pages[: pages_needed(length, pool.shape[1])]), length
        )
    ),
    "sdpa.pages_reversed": in_pages(
        read_in_order=lambda pool, pages, length: read_in_order(
            pool, pages[: pages_needed(length, pool.shape[1])][::-1], length
        )
    ),
    "sdpa.pages_taken_as_neighbours": in_pages(read_in_order=in_flat_pool(after_the_first)),
    "sdpa.table_of_next_sequence": table_rows(lambda table: np.roll(table, -1, axis=0)),
    "sdpa.table_of_first_sequence": table_rows(lambda table: np.repeat(table[:1], len(table), axis=0)),
    "sdpa.table_from_second_page": table_rows(lambda table: np.roll(table, -1, axis=1)),
    "sdpa.page_number_not_multiplied": in_pages(
        read_in_order=in_flat_pool(lambda pages, token, size: int(pages[token // size]) + token % size)
    ),
    "sdpa.page_one_slot_short": in_pages(
        read_in_order=in_flat_pool(
            lambda pages, token, size: int(pages[token // size]) * max(size - 1, 1) + token % size
        )
    ),
    "sdpa.page_size_of_sixteen": in_pages(
        read_in_order=in_flat_pool(
            lambda pages, token, _size: int(pages[min(token // 16, len(pages) - 1)]) * 16 + token % 16
        )
    ),
    "sdpa.pages_by_shifted_bits": in_pages(read_in_order=in_flat_pool(by_shifted_bits)),
    "sdpa.slots_by_masked_bits": in_pages(read_in_order=in_flat_pool(slot_by_masked_bits)),
    "sdpa.keys_spread_over_pages": in_pages(
        read_in_order=in_flat_pool(
            lambda pages, token, size: int(pages[token % len(pages)]) * size + token // len(pages)
        )
    ),
    "sdpa.slots_from_one": in_pages(
        read_in_order=in_flat_pool(lambda pages, token, size: int(pages[token // size]) * size + (token + 1) % size)
    ),
    "sdpa.values_taken_as_neighbours": reading_pages(values_after_the_first),
    "sdpa.page_too_many": by_page(lambda lengths, size: lengths + size * (lengths % size == 0)),
    "sdpa.page_tail_read": by_page(lambda lengths, size: -(-lengths // size) * size),
    "sdpa.page_tail_weighed": reading_pages(tail_weighed),
    "sdpa.table_padding_read": table_lengths(whole_row),
    "sdpa.last_page_dropped": by_page(lambda lengths, size: lengths // size * size),
    "sdpa.full_last_page_dropped": by_page(
        lambda lengths, size: lengths - size * ((lengths > 0) & (lengths % size == 0))
    ),
    "sdpa.keys_as_many_as_queries": table_lengths(as_many_as_queries),
    "sdpa.paged_length_of_first_sequence": table_lengths(
        lambda given: np.full_like(given["key_lengths"], np.sum(given["key_lengths"][:1]))
    ),
    "sdpa.page_read_heads_first": {
        layout: altered(function, key_pool=memory_as_heads_first, value_pool=memory_as_heads_first)
        for layout, function in (("paged", paged_attention), ("paged_csr", paged_attention_by_list))
    },
    "sdpa.page_read_tokens_first": {
        layout: altered(function, key_pool=memory_as_tokens_first, value_pool=memory_as_tokens_first)
        for layout, function in (
            ("paged_heads_first", paged_attention),
            ("paged_csr_heads_first", paged_attention_by_list),
        )
    },
    "sdpa.empty_sequence_given_another": reading_pages(empty_given_the_one_before),
    "sdpa.empty_sequence_read": table_lengths(lambda given: np.maximum(given["key_lengths"], 1)),
    "sdpa.last_page_length_without_pages": by_list(
        patch(
            paged_attention_by_list, lengths_by_list=counted_from_one_page_less, attend_to_pages=length_without_a_page
        )
    ),
    "sdpa.page_list_one_later": parts_of_list(
        lambda starts: [slice(start + 1, end + 1) for start, end in pairwise(starts)]
    ),
    "sdpa.page_list_from_the_beginning": parts_of_list(
        lambda starts: [slice(0, end - start) for start, end in pairwise(starts)]
    ),
    "sdpa.page_list_cumulated": parts_of_list(lambda starts: [slice(0, end) for end in starts[1:]]),
    "sdpa.page_list_with_the_next": parts_of_list(
        lambda starts: [slice(start, end + 1) for start, end in pairwise(starts)]
    ),
    "sdpa.last_page_length_ignored": last_lengths(np.full_like),
    "sdpa.last_page_length_of_first": last_lengths(lambda lengths, _size: np.full_like(lengths, lengths[:1].sum())),
    "sdpa.last_page_one_more": last_lengths(lambda lengths, _size: lengths + 1),
    "sdpa.full_last_page_as_empty": last_lengths(lambda lengths, size: lengths % size),
    "sdpa.every_page_as_long_as_the_last": by_list(
        patch(paged_attention_by_list, attend_to_pages=each_as_long_as_the_last)
    ),
    "sdpa.last_page_without_a_page": by_list(with_a_foreign_page),
}
