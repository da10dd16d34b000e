"""What goes wrong where tables and pools are addressed, and where pages before a window are not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_paged import in_flat_pool, paged_mistake
from attnspec_mistakes.attention.served import by_list, by_table, in_pages, own_positions, reading_pages
from attnspec_mistakes.departures import altered
from attnspec_mistakes.memory import as_it_lies_in_memory, read_forwards
from attnspec_reference.attention.attention_keys import is_boolean
from attnspec_reference.attention.packed_attention import ServedAttention
from attnspec_reference.attention.paged_attention import attend_to_pages, paged_attention, paged_attention_by_list
from attnspec_reference.precision import result_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.mistake import Mistake
    from attnspec_reference.precision import Array, Integers


def slot_in_sixteen_bits(pages: Integers, token: int, size: int) -> int:
    """Find the slot in the pool in 16 bits, which wrap."""
    return int(np.int64(int(pages[token // size]) * size + token % size).astype(np.uint16))


def page_in_eight_bits(pages: Integers, token: int, size: int) -> int:
    """Keep the number of a page in 8 bits, which wrap."""
    return int(pages[token // size]) % 256 * size + token % size


def skipping(change: Callable[[dict[str, Any], int, Array, Array], None]) -> Callable[..., ServedAttention]:
    """Make an `attend_to_pages` that skips pages before a window, and counts something from the first one it reads."""

    def attend(
        query: Array,
        key_pool: Array,
        value_pool: Array,
        pages: list[Integers],
        key_lengths: list[int],
        *,
        query_lengths: Any = None,
        **others: Any,
    ) -> ServedAttention:
        batch, heads, tokens, _ = query.shape
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


MISTAKES: tuple[Mistake, ...] = (
    paged_mistake(
        id="sdpa.table_read_as_it_lies",
        clause="sdpa.memory_layout",
        sentence="The rows of the table were read in the order in which they lie in memory.",
        engineer="The block table is taken for contiguous: b * max_pages + n, without its strides.",
        remedy="Address the table by its strides.",
        in_layout=by_table(altered(paged_attention, block_table=as_it_lies_in_memory)),
    ),
    paged_mistake(
        id="sdpa.list_read_forwards",
        clause="sdpa.memory_layout",
        sentence="Starts, pages and lengths were read forwards in memory, also where they run backwards.",
        engineer="The stride of index arrays is taken for 1.",
        remedy="Address index arrays by their strides.",
        in_layout=by_list(
            altered(
                paged_attention_by_list,
                page_starts=read_forwards,
                page_indices=read_forwards,
                last_page_length=read_forwards,
            )
        ),
    ),
    paged_mistake(
        id="sdpa.pools_read_as_they_lie",
        clause="sdpa.memory_layout",
        sentence="The pools were read in the order in which they lie in memory.",
        engineer="Strides of the pools are worked out from their shapes.",
        remedy="Address the pools by their strides.",
        in_layout={
            **by_table(altered(paged_attention, key_pool=as_it_lies_in_memory, value_pool=as_it_lies_in_memory)),
            **by_list(altered(paged_attention_by_list, key_pool=as_it_lies_in_memory, value_pool=as_it_lies_in_memory)),
        },
    ),
    paged_mistake(
        id="sdpa.slots_in_sixteen_bits",
        clause="sdpa.paged.pages",
        sentence="The number of a slot in the pool was held in 16 bits.",
        engineer="The slot map is of 16 bits, which wrap in large pools.",
        remedy="Count slots in 64 bits.",
        in_layout=in_pages(read_in_order=in_flat_pool(slot_in_sixteen_bits)),
    ),
    paged_mistake(
        id="sdpa.pages_in_eight_bits",
        clause="sdpa.paged.pages",
        sentence="The number of a page was held in 8 bits.",
        engineer="The table is packed into bytes.",
        remedy="Keep numbers of pages as they are.",
        in_layout=in_pages(read_in_order=in_flat_pool(page_in_eight_bits)),
    ),
    paged_mistake(
        id="sdpa.mask_from_first_page_read",
        clause="sdpa.paged.position",
        sentence="The columns of the mask were counted from the first page that is read, not from the first key.",
        engineer="The key loop starts behind the pages before the window, and its counter indexes the mask.",
        remedy="Index the mask by the position of the key.",
        in_layout=reading_pages(skipping(mask_from_first_page)),
    ),
    paged_mistake(
        id="sdpa.distances_from_first_page_read",
        clause="sdpa.paged.position",
        sentence="The distances of ALiBi were counted from the first page that is read, not from the first key.",
        engineer="The key loop starts behind the pages before the window, and its counter stands for the position.",
        remedy="Take the distance to the position of the key.",
        in_layout=reading_pages(skipping(distances_from_first_page)),
    ),
    paged_mistake(
        id="sdpa.sinks_beside_first_page_alone",
        clause="sdpa.sinks.denominator",
        sentence="Sinks were left out where a window leaves out the first page of a sequence.",
        engineer="The sink joins in the iteration of page 0, which is skipped.",
        remedy="Let the sink join once, whichever pages are read.",
        in_layout=reading_pages(skipping(sinks_beside_first_page)),
    ),
)
"""What goes wrong with how tables, lists and pools are addressed, and with what is counted behind skipped pages."""
