"""What goes wrong where one list names the pages of all sequences: where its parts begin, and how long pages are."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_paged import paged_mistake
from attnspec_mistakes.attention.served import by_list
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.paged_attention import attend_to_pages, paged_attention_by_list, pages_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.departures import Computation
    from attnspec_mistakes.mistake import Mistake
    from attnspec_reference.attention.packed_attention import ServedAttention
    from attnspec_reference.precision import Array, Integers


def parts_of_list(cut: Callable[[list[int]], list[slice]]) -> Mapping[str, Computation]:
    """Make a mistake of which part of the list belongs to a sequence."""

    def each_sequence(starts: Array) -> list[slice]:
        return cut(starts.tolist())

    return by_list(departure(paged_attention_by_list, each_sequence=each_sequence))


def one_later(starts: list[int]) -> list[slice]:
    """Begin and end each part one entry too late."""
    return [slice(start + 1, end + 1) for start, end in pairwise(starts)]


def from_the_first(starts: list[int]) -> list[slice]:
    """Begin each part at the first entry of the list."""
    return [slice(0, end - start) for start, end in pairwise(starts)]


def up_to_the_end(starts: list[int]) -> list[slice]:
    """Begin each part at the first entry of the list, and end it where its sequence ends."""
    return [slice(0, end) for end in starts[1:]]


def with_the_next(starts: list[int]) -> list[slice]:
    """Take the first page of the next sequence in, too."""
    return [slice(start, end + 1) for start, end in pairwise(starts)]


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
    held = [(length - 1) % size + 1 for length in key_lengths]
    cut: list[Integers] = []
    count = 0
    keys, values = [key_pool], [value_pool]
    for own, last in zip(pages, held, strict=True):
        tokens = [(page, slot) for page in own.tolist() for slot in range(last)]
        number = -(-len(tokens) // size)
        for pool, parts in ((key_pool, keys), (value_pool, values)):
            joined = np.zeros((number * size, *pool.shape[2:]), dtype=pool.dtype)
            for place, (page, slot) in enumerate(tokens):
                joined[place] = pool[page, slot]
            parts.append(joined.reshape(number, size, *pool.shape[2:]))
        cut.append(len(key_pool) + count + np.arange(int(number)))
        count += number
    lengths = [len(own) * last for own, last in zip(pages, held, strict=True)]
    return attend_to_pages(query, np.concatenate(keys), np.concatenate(values), cut, lengths, **others)


def with_a_foreign_page(**arguments: Any) -> ServedAttention:
    """Read the last page of a sequence that has none: the page that follows in the list, which is another's."""
    starts = np.asarray(arguments["page_starts"]).tolist()
    parts = [slice(start, max(end, start + 1)) for start, end in pairwise(starts)]

    def each_sequence(_starts: Array) -> list[slice]:
        return parts

    return departure(paged_attention_by_list, each_sequence=each_sequence)(**arguments)


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


MISTAKES: tuple[Mistake, ...] = (
    paged_mistake(
        id="sdpa.last_page_length_without_pages",
        clause="sdpa.paged.list_empty",
        sentence="Where a sequence has no page, keys were counted from its last_page_length, and zeros attended.",
        engineer="The length is (pages - 1) * page_size + last_page_len, also where there is no page.",
        remedy="Take 0 for the length where a sequence has no page.",
        in_layout=by_list(
            departure(
                paged_attention_by_list,
                lengths_by_list=counted_from_one_page_less,
                attend_to_pages=length_without_a_page,
            )
        ),
    ),
    paged_mistake(
        id="sdpa.page_list_one_later",
        clause="sdpa.paged.list",
        sentence="The pages of each sequence were read one entry too late in the list.",
        engineer="page_starts is indexed, or its elements are taken, off by one.",
        remedy="Begin at page_starts[b] and end before page_starts[b + 1].",
        in_layout=parts_of_list(one_later),
    ),
    paged_mistake(
        id="sdpa.page_list_from_the_beginning",
        clause="sdpa.paged.list",
        sentence="Every sequence read its pages from the beginning of the list.",
        engineer="The indptr is used for the number of pages, and not as an offset.",
        remedy="Begin at page_starts[b] in the list.",
        in_layout=parts_of_list(from_the_first),
    ),
    paged_mistake(
        id="sdpa.page_list_cumulated",
        clause="sdpa.paged.list",
        sentence="Each sequence read the pages of those before it, too.",
        engineer="The page loop runs from 0 to indptr[b + 1].",
        remedy="Begin at page_starts[b] in the list.",
        in_layout=parts_of_list(up_to_the_end),
    ),
    paged_mistake(
        id="sdpa.page_list_with_the_next",
        clause="sdpa.paged.list",
        sentence="Each sequence read the first page of the next one, too.",
        engineer="The page loop runs to indptr[b + 1] inclusive.",
        remedy="End before page_starts[b + 1].",
        in_layout=parts_of_list(with_the_next),
    ),
    paged_mistake(
        id="sdpa.last_page_length_ignored",
        clause="sdpa.paged.list_length",
        sentence="The last page of each sequence was taken for full.",
        engineer="last_page_len is not read: all slots of the last page are attended.",
        remedy="Attend to the first last_page_length[b] keys of the last page.",
        in_layout=last_lengths(np.full_like),
    ),
    paged_mistake(
        id="sdpa.last_page_length_of_first",
        clause="sdpa.paged.list_length",
        sentence="The last page of every sequence was taken for as long as that of the first one.",
        engineer="last_page_len is read at index 0 for every sequence.",
        remedy="Read element b of last_page_length for sequence b.",
        in_layout=last_lengths(lambda lengths, _size: np.full_like(lengths, lengths[:1].sum())),
    ),
    paged_mistake(
        id="sdpa.last_page_one_more",
        clause="sdpa.paged.list_length",
        sentence="One key too many was read from the last page.",
        engineer="last_page_len is taken for the index of the last slot.",
        remedy="Attend to the first last_page_length[b] keys of the last page.",
        in_layout=last_lengths(lambda lengths, _size: lengths + 1),
    ),
    paged_mistake(
        id="sdpa.full_last_page_as_empty",
        clause="sdpa.paged.list_length",
        sentence="A last page that is full was taken for empty.",
        engineer="last_page_len is reduced modulo the page size, so that a full page counts 0.",
        remedy="Take last_page_length as it is, from 1 to the page size.",
        in_layout=last_lengths(lambda lengths, size: lengths % size),
    ),
    paged_mistake(
        id="sdpa.every_page_as_long_as_the_last",
        clause="sdpa.paged.list_length",
        sentence="Every page was read only as far as the last one of its sequence is filled.",
        engineer="The bound of the last page is applied in each iteration of the page loop.",
        remedy="Read every page but the last one to its end.",
        in_layout=by_list(departure(paged_attention_by_list, attend_to_pages=each_as_long_as_the_last)),
    ),
    paged_mistake(
        id="sdpa.last_page_without_a_page",
        clause="sdpa.paged.list_empty",
        sentence="A sequence without pages read keys of what follows in the list.",
        engineer="last_page_len is added although there is no page, so that a foreign page is read.",
        remedy="Count no keys where a sequence has no page.",
        in_layout=by_list(with_a_foreign_page),
    ),
)
