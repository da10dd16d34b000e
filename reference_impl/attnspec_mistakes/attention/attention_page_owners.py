"""What goes wrong where a page belongs to several sequences, or is taken for one that belongs to none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_paged import paged_mistake
from attnspec_mistakes.attention.served import attend_at, own_positions, reading_pages
from attnspec_reference.attention.packed_attention import alone, columns_of
from attnspec_reference.attention.paged_attention import attend_to_pages, pages_needed, read_in_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.mistake import Mistake
    from attnspec_reference.attention.packed_attention import ServedAttention
    from attnspec_reference.precision import Array, Integers


def without(keep: Callable[[list[Integers]], list[list[bool]]]) -> Callable[..., ServedAttention]:
    """Make an `attend_to_pages` that reads zeros in the place of some pages of each sequence."""

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


def all_but_page_zero(pages: list[Integers]) -> list[list[bool]]:
    """Keep every page but number 0."""
    return [[page != 0 for page in own.tolist()] for own in pages]


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
            places = np.where(of_keys < tokens, of_queries[token], of_keys)
            attention = attend_at(
                query[entry : entry + 1, :, token : token + 1],
                alone(read_in_order(key_pool, own[: pages_needed(keys, size)], keys)),
                alone(read_in_order(value_pool, own[: pages_needed(keys, size)], keys)),
                (of_queries[token : token + 1], places),
                mask=columns_of(mask, keys),
                **given,
            )
            output[entry, :, token] = attention.output[0, :, 0]
            logsumexp[entry, :, token] = attention.logsumexp[0, :, 0]
    return right._replace(output=output, logsumexp=logsumexp)


MISTAKES: tuple[Mistake, ...] = (
    paged_mistake(
        id="sdpa.shared_page_of_first_alone",
        clause="sdpa.paged.shared",
        sentence="A page of several sequences was read for the first of them alone.",
        engineer="A map from pages to sequences has one owner for each page.",
        remedy="Read every page that a sequence lists, whoever else lists it.",
        in_layout=reading_pages(without(first_owners_alone)),
    ),
    paged_mistake(
        id="sdpa.shared_prefix_attended_whole",
        clause="sdpa.paged.shared",
        sentence="Pages that all sequences begin with were attended whole, without causality and window.",
        engineer="The shared prefix of a cascade is taken to lie before all queries, and within their windows.",
        remedy="Apply causality and windows to the shared prefix, too, by the positions of each sequence.",
        in_layout=reading_pages(prefix_without_positions),
    ),
    paged_mistake(
        id="sdpa.page_zero_as_filler",
        clause="sdpa.paged.pages",
        sentence="Page 0 was taken for a filler, and zeros were read in its place.",
        engineer="Block 0 is the null block of the allocator.",
        remedy="Page 0 is a page as any other: read it where a sequence lists it.",
        in_layout=reading_pages(without(all_but_page_zero)),
    ),
)
"""What goes wrong with whom a page belongs to."""
