"""What goes wrong where keys and values lie in pages: which page, which slot, how many, and where they stand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.served import (
    OPERATION,
    by_table,
    in_pages,
    reading_pages,
)
from attnspec_mistakes.departures import altered
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.paged_attention import (
    attend_to_pages,
    paged_attention,
    paged_attention_by_list,
    pages_needed,
    read_in_order,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.attention.packed_attention import ServedAttention
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


def a_page_more_at_the_end(arguments: dict[str, Any]) -> Integers:
    """Count a whole page more where the last one is full."""
    lengths, size = np.asarray(arguments["key_lengths"]), page_size_of(arguments)
    return np.where(lengths % size == 0, lengths + size, lengths)


def up_to_the_page(arguments: dict[str, Any]) -> Integers:
    """Count every slot of the last page."""
    lengths: Integers = np.asarray(arguments["key_lengths"])
    size = page_size_of(arguments)
    return -(-lengths // size) * size


def full_pages_alone(arguments: dict[str, Any]) -> Integers:
    """Count no key of a page that is not full."""
    lengths: Integers = np.asarray(arguments["key_lengths"])
    size = page_size_of(arguments)
    return lengths // size * size


def last_full_page_lost(arguments: dict[str, Any]) -> Integers:
    """Take the remainder for the length of the last page, which is 0 where it is full."""
    lengths, size = np.asarray(arguments["key_lengths"]), page_size_of(arguments)
    is_full = (lengths > 0) & np.equal(lengths % size, 0)
    return np.where(is_full, lengths - size, lengths)


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


def of_sixteen(pages: Integers, token: int, _size: int) -> int:
    """Take every page for one of sixteen tokens."""
    return int(pages[min(token // 16, len(pages) - 1)]) * 16 + token % 16


def without_the_size(pages: Integers, token: int, size: int) -> int:
    """Add the number of the page to the slot, as if it counted tokens."""
    return int(pages[token // size]) + token % size


def one_slot_short(pages: Integers, token: int, size: int) -> int:
    """Multiply the number of the page by one slot less than it has."""
    return int(pages[token // size]) * max(size - 1, 1) + token % size


def spread_over_pages(pages: Integers, token: int, size: int) -> int:
    """Take the quotient for the remainder: neighbouring keys are looked for in neighbouring pages."""
    return int(pages[token % len(pages)]) * size + token // len(pages)


def after_the_first(pages: Integers, token: int, size: int) -> int:
    """Go on behind the first page, as if the others followed it in the pool."""
    return int(pages[0]) * size + token


def one_slot_later(pages: Integers, token: int, size: int) -> int:
    """Begin each page at its second slot."""
    return int(pages[token // size]) * size + (token + 1) % size


def by_shifted_bits(pages: Integers, token: int, size: int) -> int:
    """Find page and slot by shifting and masking bits, as if the page size were a power of two."""
    bits = size.bit_length() - 1
    return int(pages[min(token >> bits, len(pages) - 1)]) * size + (token & ((1 << bits) - 1))


def slot_by_masked_bits(pages: Integers, token: int, size: int) -> int:
    """Find the slot by masking bits, as if the page size were a power of two."""
    return int(pages[token // size]) * size + (token & ((1 << (size.bit_length() - 1)) - 1))


def in_order_of_pool(pool: Array, pages: Integers, length: int) -> Array:
    """Read the pages of a sequence in the order in which they stand in the pool."""
    used = pages_needed(length, pool.shape[1])
    return read_in_order(pool, np.sort(pages[:used]), length)


def pages_reversed(pool: Array, pages: Integers, length: int) -> Array:
    """Read the pages of a sequence from the last to the first."""
    used = pages_needed(length, pool.shape[1])
    return read_in_order(pool, pages[:used][::-1], length)


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


mistake = partial(Mistake, operation=OPERATION)


def paged_mistake(in_layout: Mapping[str, Computation], **words: Any) -> Mistake:
    """Return a mistake of layouts with pages."""
    return mistake(function=next(iter(in_layout.values())), in_layout=in_layout, **words)


MISTAKES: tuple[Mistake, ...] = (
    paged_mistake(
        id="sdpa.pages_in_pool_order",
        clause="sdpa.paged.pages",
        sentence="The pages of a sequence were read in the order in which they stand in the pool.",
        engineer="The page indices are sorted, or the pool is scanned instead of walking them.",
        remedy="Read page after page in the order in which they are listed, wherever they stand.",
        in_layout=in_pages(read_in_order=in_order_of_pool),
    ),
    paged_mistake(
        id="sdpa.pages_reversed",
        clause="sdpa.paged.pages",
        sentence="The pages of a sequence were read from the last to the first.",
        engineer="The loop over pages counts down, but key positions still count up.",
        remedy="Let page number j // page size of a sequence hold key j.",
        in_layout=in_pages(read_in_order=pages_reversed),
    ),
    paged_mistake(
        id="sdpa.pages_taken_as_neighbours",
        clause="sdpa.paged.pages",
        sentence="Only the first page was looked up; the others were taken from behind it in the pool.",
        engineer="The base pointer is computed once a sequence, so the cache is read as contiguous.",
        remedy="Look every page up.",
        in_layout=in_pages(read_in_order=in_flat_pool(after_the_first)),
    ),
    paged_mistake(
        id="sdpa.table_of_next_sequence",
        clause="sdpa.paged.table",
        sentence="Each sequence read the pages of the next one.",
        engineer="The row index into the block table is off by one.",
        remedy="Use row b of the table for sequence b.",
        in_layout=table_rows(lambda table: np.roll(table, -1, axis=0)),
    ),
    paged_mistake(
        id="sdpa.table_of_first_sequence",
        clause="sdpa.paged.table",
        sentence="Every sequence read the pages of the first one.",
        engineer="The batch stride of the block table is taken as 0.",
        remedy="Use row b of the table for sequence b.",
        in_layout=table_rows(lambda table: np.repeat(table[:1], len(table), axis=0)),
    ),
    paged_mistake(
        id="sdpa.table_from_second_page",
        clause="sdpa.paged.table",
        sentence="The first page of each sequence was left out; its pages were counted from the second entry.",
        engineer="The table is indexed with j // page_size + 1.",
        remedy="Let entry 0 of a row hold the first keys.",
        in_layout=table_rows(lambda table: np.roll(table, -1, axis=1)),
    ),
    paged_mistake(
        id="sdpa.page_number_not_multiplied",
        clause="sdpa.paged.pages",
        sentence="The number of a page was taken for the number of its first token.",
        engineer="The address is page + slot; the page number is not multiplied by the page size.",
        remedy="Multiply the number of the page by the page size before the slot is added.",
        in_layout=in_pages(read_in_order=in_flat_pool(without_the_size)),
    ),
    paged_mistake(
        id="sdpa.page_one_slot_short",
        clause="sdpa.paged.page_size",
        sentence="Pages were taken for one slot shorter than they are.",
        engineer="The page stride is (page_size - 1) tokens.",
        remedy="Multiply the number of a page by the page size.",
        in_layout=in_pages(read_in_order=in_flat_pool(one_slot_short)),
    ),
    paged_mistake(
        id="sdpa.page_size_of_sixteen",
        clause="sdpa.paged.page_size",
        sentence="Every page was taken for one of 16 keys.",
        engineer="The page size is a compile-time 16, and the shape of the pool is not looked at.",
        remedy="Take the page size from the shape of the pools.",
        in_layout=in_pages(read_in_order=in_flat_pool(of_sixteen)),
    ),
    paged_mistake(
        id="sdpa.pages_by_shifted_bits",
        clause="sdpa.paged.page_size",
        sentence="Pages and slots were found by shifting bits, which takes a page size for a power of two.",
        engineer="j >> log2(page_size) and j & (page_size - 1) stand for quotient and remainder.",
        remedy="Divide by the page size, or refuse one that is no power of two.",
        in_layout=in_pages(read_in_order=in_flat_pool(by_shifted_bits)),
    ),
    paged_mistake(
        id="sdpa.slots_by_masked_bits",
        clause="sdpa.paged.page_size",
        sentence="Slots were found by masking bits, which takes a page size for a power of two.",
        engineer="j & (2 ** floor(log2(page_size)) - 1) stands for the remainder.",
        remedy="Take the remainder of j and the page size.",
        in_layout=in_pages(read_in_order=in_flat_pool(slot_by_masked_bits)),
    ),
    paged_mistake(
        id="sdpa.keys_spread_over_pages",
        clause="sdpa.paged.pages",
        sentence="Neighbouring keys were looked for in neighbouring pages.",
        engineer="Quotient and remainder of j and the page size are exchanged.",
        remedy="Use j // page size for the page and j % page size for the slot.",
        in_layout=in_pages(read_in_order=in_flat_pool(spread_over_pages)),
    ),
    paged_mistake(
        id="sdpa.slots_from_one",
        clause="sdpa.paged.pages",
        sentence="Key j was looked for one slot too late in its page.",
        engineer="The slot index is (j + 1) % page_size.",
        remedy="Let the first slot of a page hold its first key.",
        in_layout=in_pages(read_in_order=in_flat_pool(one_slot_later)),
    ),
    paged_mistake(
        id="sdpa.values_taken_as_neighbours",
        clause="sdpa.paged.pages",
        sentence="Keys were looked up page by page, but values were taken from behind the first page in the pool.",
        engineer="The value pointer is advanced linearly, while the key pointer follows the pages.",
        remedy="Look the pages of values up as those of keys.",
        in_layout=reading_pages(values_after_the_first),
    ),
    paged_mistake(
        id="sdpa.page_too_many",
        clause="sdpa.paged.unread",
        sentence="One page too many was read where the last page of a sequence is full.",
        engineer="The number of pages is length // page_size + 1, which is one more at each boundary.",
        remedy="Count the pages as the quotient of length and page size, rounded up.",
        in_layout=table_lengths(a_page_more_at_the_end),
    ),
    paged_mistake(
        id="sdpa.page_tail_read",
        clause="sdpa.paged.unread",
        sentence="The last page of a sequence was attended to its end, behind the last key.",
        engineer="The tail of the last page is not masked by the length.",
        remedy="Stop at key number L, within the last page.",
        in_layout=table_lengths(up_to_the_page),
    ),
    paged_mistake(
        id="sdpa.page_tail_weighed",
        clause="sdpa.paged.unread",
        sentence="Slots behind the last key had weight 0, but their values were multiplied: NaN got through.",
        engineer="Masked probabilities of 0 are multiplied with uninitialized values of the tail.",
        remedy="Select the values that count, or clear the others before the product.",
        in_layout=reading_pages(tail_weighed),
    ),
    paged_mistake(
        id="sdpa.table_padding_read",
        clause="sdpa.paged.unread",
        sentence="Every page that a row lists was attended, those behind the last page of its sequence, too.",
        engineer="The loop runs over the width of the block table, not over the pages of the sequence.",
        remedy="Read as many pages as the length of the sequence needs.",
        in_layout=table_lengths(whole_row),
    ),
    paged_mistake(
        id="sdpa.last_page_dropped",
        clause="sdpa.paged.table_length",
        sentence="The last page of a sequence was left out where it is not full.",
        engineer="The number of pages is length // page_size, rounded down.",
        remedy="Round the number of pages up.",
        in_layout=table_lengths(full_pages_alone),
    ),
    paged_mistake(
        id="sdpa.full_last_page_dropped",
        clause="sdpa.paged.table_length",
        sentence="The last page of a sequence was left out where it is full.",
        engineer="The length of the last page is length % page_size, which is 0 at each boundary.",
        remedy="Take the whole page where the remainder is 0.",
        in_layout=table_lengths(last_full_page_lost),
    ),
    paged_mistake(
        id="sdpa.keys_as_many_as_queries",
        clause="sdpa.paged.table_length",
        sentence="The number of queries of a sequence was taken for the number of its keys.",
        engineer="The sequence lengths of the queries are bound where those of the keys are due.",
        remedy="Read the number of keys from key_lengths.",
        in_layout=table_lengths(as_many_as_queries),
    ),
    paged_mistake(
        id="sdpa.paged_length_of_first_sequence",
        clause="sdpa.paged.table_length",
        sentence="Every sequence was read as far as the first one.",
        engineer="key_lengths is read at index 0 for every sequence.",
        remedy="Read element b of key_lengths for sequence b.",
        in_layout=table_lengths(lambda given: np.full_like(given["key_lengths"], np.sum(given["key_lengths"][:1]))),
    ),
    paged_mistake(
        id="sdpa.page_read_heads_first",
        clause="sdpa.paged.tokens_first",
        sentence="The pages were read as if heads came before tokens in them.",
        engineer="Strides of an (Hkv, page_size) page are applied to memory of a (page_size, Hkv) page.",
        remedy="Read tokens first, then heads, in each page.",
        in_layout={
            layout: altered(function, key_pool=memory_as_heads_first, value_pool=memory_as_heads_first)
            for layout, function in (("paged", paged_attention), ("paged_csr", paged_attention_by_list))
        },
    ),
    paged_mistake(
        id="sdpa.page_read_tokens_first",
        clause="sdpa.paged.heads_first",
        sentence="The pages were read as if tokens came before heads in them.",
        engineer="Strides of a (page_size, Hkv) page are applied to memory of an (Hkv, page_size) page.",
        remedy="Read heads first, then tokens, in each page.",
        in_layout={
            layout: altered(function, key_pool=memory_as_tokens_first, value_pool=memory_as_tokens_first)
            for layout, function in (
                ("paged_heads_first", paged_attention),
                ("paged_csr_heads_first", paged_attention_by_list),
            )
        },
    ),
    paged_mistake(
        id="sdpa.empty_sequence_given_another",
        clause="sdpa.paged.empty",
        sentence="A sequence without keys got the output of another one.",
        engineer="The block of an empty sequence exits early and leaves its rows of a reused buffer unwritten.",
        remedy="Write zeros to the rows of a sequence without keys.",
        in_layout=reading_pages(empty_given_the_one_before),
    ),
    paged_mistake(
        id="sdpa.empty_sequence_read",
        clause="sdpa.paged.empty",
        sentence="One key was read for a sequence that has none.",
        engineer="The key loop is a do-while, or the length is clamped to at least 1.",
        remedy="Read no key where the length is 0.",
        in_layout=table_lengths(lambda given: np.maximum(given["key_lengths"], 1)),
    ),
)
