"""What goes wrong where keys and values lie in pages: where queries and keys stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_paged import paged_mistake
from attnspec_mistakes.attention.served import own_positions, placing, reading_pages
from attnspec_reference.attention.paged_attention import attend_to_pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.attention.served import Positions
    from attnspec_mistakes.mistake import Mistake
    from attnspec_reference.attention.packed_attention import ServedAttention
    from attnspec_reference.precision import Array, Integers


def in_the_pool(
    pages: Integers, size: int, counted: list[int], lengths: list[int], entry: int, alignment: str
) -> Positions:
    """Take the place of a key in the pool for its position."""
    queries, keys = own_positions(counted[entry], lengths[entry], alignment)
    number, slot = np.divmod(keys, size)
    return queries, np.asarray(pages)[number] * size + slot


def in_the_page(
    _pages: Integers, size: int, counted: list[int], lengths: list[int], entry: int, alignment: str
) -> Positions:
    """Begin to count positions anew in each page."""
    queries, keys = own_positions(counted[entry], lengths[entry], alignment)
    return queries, keys % size


def from_the_longest(
    _pages: Integers, _size: int, counted: list[int], lengths: list[int], entry: int, alignment: str
) -> Positions:
    """Align the queries of every sequence at the end of the longest one."""
    queries, _ = own_positions(counted[entry], max(lengths), alignment)
    return queries, np.arange(lengths[entry])


def from_the_page_end(
    _pages: Integers, size: int, counted: list[int], lengths: list[int], entry: int, alignment: str
) -> Positions:
    """Align the last query at the end of the last page."""
    queries, _ = own_positions(counted[entry], -(-lengths[entry] // size) * size, alignment)
    return queries, np.arange(lengths[entry])


def only(place: Callable[..., Positions], argument: str) -> Callable[..., ServedAttention]:
    """Make a mistake of positions that one feature alone makes; without it, everything stands where it should."""
    wrong = placing(place)

    def attend(*positional: Any, **arguments: Any) -> ServedAttention:
        given = arguments.get(argument)
        concerned = given is not None and given is not False
        return (wrong if concerned else attend_to_pages)(*positional, **arguments)

    return attend


def one_mask_for_all(
    query: Array, key_pool: Array, value_pool: Array, pages: list[Integers], key_lengths: list[int], **others: Any
) -> ServedAttention:
    """Exclude in every sequence the keys that causality and window exclude in the first one."""

    def place(
        _pages: Integers, _size: int, counted: list[int], lengths: list[int], entry: int, alignment: str
    ) -> Positions:
        queries, _ = own_positions(counted[0], lengths[0], alignment)
        return np.resize(queries, counted[entry]), np.arange(lengths[entry])

    return placing(place)(query, key_pool, value_pool, pages, key_lengths, **others)


MISTAKES: tuple[Mistake, ...] = (
    paged_mistake(
        id="sdpa.causal_by_place_in_pool",
        clause="sdpa.paged.position",
        sentence="Causality compared queries with the places of keys in the pool, not with their positions.",
        engineer="The causal test uses the physical slot, page * page_size + slot.",
        remedy="Compare with the number of the key in its sequence.",
        in_layout=reading_pages(only(in_the_pool, "is_causal")),
    ),
    paged_mistake(
        id="sdpa.window_by_place_in_pool",
        clause="sdpa.paged.position",
        sentence="The window was laid around places in the pool, not around positions.",
        engineer="The window test uses the physical slot, page * page_size + slot.",
        remedy="Compare with the number of the key in its sequence.",
        in_layout=reading_pages(only(in_the_pool, "window")),
    ),
    paged_mistake(
        id="sdpa.alibi_by_place_in_pool",
        clause="sdpa.paged.position",
        sentence="The distances of ALiBi were taken to the places of keys in the pool, not to their positions.",
        engineer="The bias uses the physical slot, page * page_size + slot.",
        remedy="Take the distance to the number of the key in its sequence.",
        in_layout=reading_pages(only(in_the_pool, "alibi_slopes")),
    ),
    paged_mistake(
        id="sdpa.positions_anew_in_each_page",
        clause="sdpa.paged.position",
        sentence="Positions were counted anew in each page.",
        engineer="Causality, window and bias use the slot within the page, without the offset of the page.",
        remedy="Add the keys of the pages before to the slot.",
        in_layout=reading_pages(placing(in_the_page)),
    ),
    paged_mistake(
        id="sdpa.aligned_at_the_longest",
        clause="sdpa.paged.position",
        sentence="The last queries of all sequences were placed at the end of the longest one.",
        engineer="The bottom-right offset uses max_seqlen_k instead of the length of the sequence.",
        remedy="Place the queries of each sequence by its own length.",
        in_layout=reading_pages(placing(from_the_longest)),
    ),
    paged_mistake(
        id="sdpa.aligned_at_the_page_end",
        clause="sdpa.paged.position",
        sentence="The last query of a sequence was placed at the end of its last page, not at its last key.",
        engineer="The bottom-right offset uses the number of pages times the page size.",
        remedy="Place the last query at key number L - 1.",
        in_layout=reading_pages(placing(from_the_page_end)),
    ),
    paged_mistake(
        id="sdpa.paged_mask_of_first_sequence",
        clause="sdpa.paged.position",
        sentence="Queries of every sequence were placed as those of the first one.",
        engineer="The causal offset is computed once, from the first sequence of the batch.",
        remedy="Place the queries of each sequence by its own lengths.",
        in_layout=reading_pages(one_mask_for_all),
    ),
)
