"""Other ways through packed and paged keys: page by page as kernels go, gathered at once, or behind one mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision
from attnspec_reference.attention.attention_inputs import (
    check_alignment,
    check_inputs,
    check_one_for_each_head,
    check_softcap,
    check_window,
)
from attnspec_reference.attention.attention_logits import (
    attendable_by_mask,
    cap_scores,
    causal_offset,
    exclude_keys,
    repeat_heads,
)
from attnspec_reference.attention.phases import (
    applied_scale,
    divide_by_total,
    exponentiate,
    largest_logit,
    log_sum_exp,
    scale_scores,
    score_every_key,
    sum_over_keys,
    weigh_values,
)
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.served_attention import ServedAttention, each_sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_reference.precision import Array, Booleans, Integers

OPERATION = "scaled_dot_product_attention"

Tile = tuple["Array", "Array", "Integers"]
"""Keys and values (1, Hkv, tile, E or Ev) as they were read, and their positions; what stands there may not count."""


def online(
    query: Array,
    tiles: Iterator[Tile],
    lengths: tuple[int, int],
    width: int,
    *,
    mask: Array | None = None,
    sinks: Array | None = None,
    alibi_slopes: Array | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Any = None,
) -> tuple[Array, Array]:
    """Attend to the keys of one sequence tile by tile, correcting what is there whenever a larger logit comes.

    Parameters
    ----------
    query
        Queries that count (1, Hq, N, E).
    tiles
        The keys, tile by tile; those from number L on must not count.
    lengths
        N and L.
    width
        The number of features of a value.
    mask, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window
        As for scaled dot-product attention.
    """
    _, heads, queries, features = query.shape
    check_alignment(causal_alignment)
    check_softcap(softcap)
    check_window(window)
    check_one_for_each_head("sinks", sinks, heads)
    check_one_for_each_head("alibi_slopes", alibi_slopes, heads)
    position = np.arange(int(queries))[:, np.newaxis] + causal_offset(causal_alignment, *lengths, 0)
    column = np.full((heads, 1, 1), -np.inf) if sinks is None else sinks[:, np.newaxis, np.newaxis]
    largest = np.broadcast_to(column, (1, heads, queries, 1)).astype(query.dtype)
    total = np.where(largest == -np.inf, 0, 1).astype(query.dtype)
    output = np.zeros((1, heads, queries, width), dtype=query.dtype)
    left, right = (None, None) if window is None else window
    for key, value, indices in tiles:
        logits = scale_scores(score_every_key(query, repeat_heads(key, heads)), applied_scale(scale, features))
        logits = cap_scores(logits, softcap)
        ahead: Integers = indices - position
        if alibi_slopes is not None:
            logits = logits - alibi_slopes[:, np.newaxis, np.newaxis] * np.abs(ahead).astype(query.dtype)
        attendable: Booleans = np.broadcast_to(np.less(indices, lengths[1]), logits.shape)
        if mask is not None:
            columns: Array = mask[..., np.minimum(indices, mask.shape[-1] - 1)]
            attendable = attendable & attendable_by_mask(columns, logits.shape)
            logits = logits if mask.dtype == np.bool_ else logits + columns
        if is_causal:
            attendable = attendable & (ahead <= 0)
        if left is not None:
            attendable = attendable & (ahead >= -left)
        if right is not None:
            attendable = attendable & (ahead <= right)
        logits = exclude_keys(logits, attendable)
        larger = np.maximum(largest, largest_logit(logits))
        correction, exponentials = exponentiate(largest, larger), exponentiate(logits, larger)
        total = total * correction + sum_over_keys(exponentials)
        output = output * correction + weigh_values(exponentials, repeat_heads(value, heads), attendable)
        largest = larger
    return divide_by_total(output, total), log_sum_exp(largest, total)


@in_working_precision
def page_by_page(
    query: Array,
    key_pool: Array,
    value_pool: Array,
    block_table: Integers,
    key_lengths: Integers,
    query_lengths: Integers | None = None,
    **others: Any,
) -> ServedAttention:
    """Walk the table page by page, each read as a whole; the first unused entry is read ahead and not used."""
    check_heads(query.shape[1::2], key_pool.shape[2:], value_pool.shape[2:])
    batch, heads, tokens, _ = query.shape
    size, width = key_pool.shape[1], value_pool.shape[3]
    output, logsumexp = np.zeros((batch, heads, tokens, width)), np.full((batch, heads, tokens), -np.inf)

    def tiles(entry: int, length: int) -> Iterator[Tile]:
        for number in range(min(-(-length // size) + 1, block_table.shape[1])):
            page = block_table[entry, number]
            yield of_page(key_pool[page]), of_page(value_pool[page]), number * size + np.arange(int(size))

    for entry in range(batch):
        counted = tokens if query_lengths is None else int(query_lengths[entry])
        lengths = counted, int(key_lengths[entry])
        own = query[entry : entry + 1, :, :counted]
        output[entry, :, :counted], logsumexp[entry, :, :counted] = first_of(
            online(own, tiles(entry, lengths[1]), lengths, width, **others)
        )
    return ServedAttention(output.astype(query.dtype), logsumexp.astype(query.dtype))


@in_working_precision
def last_page_first(
    query: Array,
    key_pool: Array,
    value_pool: Array,
    page_starts: Integers,
    page_indices: Integers,
    last_page_length: Integers,
    query_lengths: Integers | None = None,
    **others: Any,
) -> ServedAttention:
    """Walk the part of the list that belongs to a sequence from its last page to its first."""
    check_heads(query.shape[1::2], key_pool.shape[2:], value_pool.shape[2:])
    batch, heads, tokens, _ = query.shape
    size, width = key_pool.shape[1], value_pool.shape[3]
    output, logsumexp = np.zeros((batch, heads, tokens, width)), np.full((batch, heads, tokens), -np.inf)

    def tiles(part: slice) -> Iterator[Tile]:
        for number in reversed(range(part.stop - part.start)):
            page = page_indices[part.start + number]
            yield of_page(key_pool[page]), of_page(value_pool[page]), number * size + np.arange(int(size))

    for entry, part in enumerate(each_sequence(page_starts)):
        counted = tokens if query_lengths is None else int(query_lengths[entry])
        pages = part.stop - part.start
        lengths = counted, (pages - 1) * size + int(last_page_length[entry]) if pages else 0
        own = query[entry : entry + 1, :, :counted]
        output[entry, :, :counted], logsumexp[entry, :, :counted] = first_of(
            online(own, tiles(part), lengths, width, **others)
        )
    return ServedAttention(output.astype(query.dtype), logsumexp.astype(query.dtype))


def packed_in_tiles(tile: int) -> Any:
    """Make a packed attention that takes the keys of each sequence in tiles, the last of which reads on."""

    @in_working_precision
    def attend(
        query: Array, key: Array, value: Array, query_starts: Integers, key_starts: Integers, **others: Any
    ) -> ServedAttention:
        check_heads(query.shape[1:], key.shape[1:], value.shape[1:])
        heads, width = query.shape[1], value.shape[2]
        output, logsumexp = np.zeros((len(query), heads, width)), np.zeros((len(query), heads))

        def tiles(part: slice) -> Iterator[Tile]:
            for start in range(part.start, part.stop, tile):
                read = slice(start, min(start + tile, len(key)))
                yield of_page(key[read]), of_page(value[read]), np.arange(read.start, read.stop) - part.start

        for own, part in zip(each_sequence(query_starts), each_sequence(key_starts), strict=True):
            lengths = own.stop - own.start, part.stop - part.start
            rows, sums = first_of(online(of_page(query[own]), tiles(part), lengths, width, **others))
            output[own], logsumexp[own] = rows.swapaxes(0, 1), sums.swapaxes(0, 1)
        return ServedAttention(output.astype(query.dtype), logsumexp.astype(query.dtype))

    return attend


def gathered(
    query: Array, key_pool: Array, value_pool: Array, block_table: Integers, key_lengths: Integers, **others: Any
) -> ServedAttention:
    """Gather all pages that rows list into padded tensors, and attend to these with lengths."""
    padded: list[Array] = []
    for pool in (key_pool, value_pool):
        pages = np.asarray(pool)[block_table]
        batch, most, size, heads, width = pages.shape
        padded.append(pages.reshape(batch, most * size, heads, width).swapaxes(1, 2))
    mask = others.pop("mask", None)
    if mask is not None:
        missing = padded[0].shape[2] - mask.shape[-1]
        column = np.zeros((*mask.shape[:-1], max(missing, 0)), dtype=mask.dtype)
        others["mask"] = np.concatenate([mask, column], axis=-1)[..., : padded[0].shape[2]]
    attention = scaled_dot_product_attention(query, *padded, key_lengths=key_lengths, **others)
    return ServedAttention(attention.output, attention.logsumexp)


def check_heads(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Refuse heads and features, both in this order, that do not fit each other."""
    check_inputs(*((1, heads, 1, features) for heads, features in (query, key, value)))


def of_page(tokens: Array) -> Array:
    """Make tokens (T, H, E) a batch of one (1, H, T, E)."""
    return tokens.swapaxes(0, 1)[np.newaxis]


def first_of(both: tuple[Array, Array]) -> tuple[Array, Array]:
    """Take the one entry of a batch."""
    return both[0][0], both[1][0]


CONTROLS: tuple[Control, ...] = (
    *(
        Control(
            id=f"sdpa.packed_in_tiles_of_{tile}",
            operation=OPERATION,
            sentence=f"Packed keys are taken in tiles of {tile} with an online softmax; the last tile reads on.",
            function=packed_in_tiles(tile),
            layout="packed",
        )
        for tile in (3, 16)
    ),
    Control(
        id="sdpa.page_by_page",
        operation=OPERATION,
        sentence="The softmax is taken online over pages, each read as a whole, and one page ahead.",
        function=page_by_page,
        layout="paged",
    ),
    Control(
        id="sdpa.last_page_first",
        operation=OPERATION,
        sentence="The softmax is taken online over the pages of a list, from the last one to the first.",
        function=last_page_first,
        layout="paged_csr",
    ),
    Control(
        id="sdpa.pages_gathered",
        operation=OPERATION,
        sentence="All pages that a table lists are gathered into padded tensors, which are attended with lengths.",
        function=gathered,
        layout="paged",
    ),
)
