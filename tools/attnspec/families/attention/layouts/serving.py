"""Attention in the layouts of serving: ``packed``, and ``paged`` with keys and values in the pages of a pool.

=============== ============= ======================================================================
Packed          Shape         Meaning: tokens of all sequences behind one another, without padding
=============== ============= ======================================================================
`query`         (Tq, Hq, E)   the queries of the first sequence, then those of the second, ...
`key`           (Tk, Hkv, E)  keys likewise, past ones before the new ones of their sequence
`value`         (Tk, Hkv, Ev) values likewise
`query_starts`  (B + 1)       where the queries of each sequence begin; Tq at last
`key_starts`    (B + 1)       where its keys and values begin; Tk at last
=============== ============= ======================================================================

It gives `output` (Tq, Hq, Ev) and `logsumexp` (Tq, Hq).

=============================== ==========================================================================
Paged                           Meaning
=============================== ==========================================================================
`query`                         (B, Hq, Sq, E), as in the contract
`key_pool`, `value_pool`        (pages, page size, Hkv, E or Ev); in layouts with heads first
                                (pages, Hkv, page size, E or Ev)
`query_lengths`, `sinks`, ...   as in the contract
------------------------------- --------------------------------------------------------------------------
`block_table`                   (B, most): which pages a sequence has, in order, and then others that it
                                must not read
`key_lengths`                   (B): how many keys each sequence has
------------------------------- --------------------------------------------------------------------------
in layouts with a list:
`page_starts`                   (B + 1): where in the list the pages of each sequence begin
`page_indices`                  the pages of all sequences; it may go on behind the last one
`last_page_length`              (B): how many keys the last page of each sequence holds
=============================== ==========================================================================

What must not be read is poisoned: with NaN and with large numbers, in turn, where what an excluded key holds has no
effect; with large numbers alone where it may. Size of the pages, order in the pool and poison follow from shapes and
attributes, and from how often the same was requested before; so they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.arrangement import Circumstances, Layout, Repacked
from attnspec.families.attention.layouts.sequences import (
    OPERATION,
    Sequences,
    pseudorandom_number,
    sequences_of,
    strided_like_inputs,
    wrong_outputs,
)

if TYPE_CHECKING:
    from attnspec.families.record import Arrays


_REPACKED_TOKENS = ("query", "key", "value", "past_key", "past_value", "key_lengths", "query_lengths")
_TOKENS_MADE_FROM = {
    "query": ("query",),
    "key": ("key", "past_key"),
    "value": ("value", "past_value"),
    "query_starts": ("query_lengths",),
    "key_starts": ("key_lengths",),
}


def packed(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances
) -> Repacked | str | None:
    """Put the sequences of a batch behind one another."""
    if operation != OPERATION:
        return None
    sequences = sequences_of(inputs, attributes, circumstances, _REPACKED_TOKENS)
    if isinstance(sequences, str):
        return sequences
    query, value = inputs["query"], inputs["value"]
    batch, heads, queries, _ = query.shape
    counted: NDArray[np.bool_] = np.less(np.arange(int(queries)), sequences.query_lengths[:, np.newaxis])

    def restore(outputs: Arrays) -> Arrays | str:
        problem = wrong_outputs(outputs, (int(np.count_nonzero(counted)), heads), value.shape[3])
        if problem is not None:
            return problem
        restored: dict[str, NDArray[Any]] = {}
        for name, rows in outputs.items():
            padded = np.zeros((batch, queries, *rows.shape[1:]), dtype=rows.dtype)
            padded[counted] = rows
            restored[name] = padded.swapaxes(1, 2)
        return restored

    by_token = {
        "query": np.ascontiguousarray(query.swapaxes(1, 2)[counted]),
        "key": _behind_one_another(sequences.keys, inputs["key"]),
        "value": _behind_one_another(sequences.values, value),
        "query_starts": _starts(sequences.query_lengths),
        "key_starts": _starts(sequences.key_lengths),
    }
    others = {name: array for name, array in inputs.items() if name not in _REPACKED_TOKENS}
    laid_out = strided_like_inputs(by_token, _TOKENS_MADE_FROM, inputs, swapped=(0, 1))
    return Repacked({**laid_out, **others}, sequences.attributes, restore)


def _behind_one_another(sequences: Sequence[NDArray[Any]], like: NDArray[Any]) -> NDArray[Any]:
    """Return (T, H, E) from each sequence's (H, L, E)."""
    none = np.zeros((0, like.shape[1], like.shape[3]), dtype=like.dtype)
    return np.concatenate([none, *(sequence.swapaxes(0, 1) for sequence in sequences)])


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


_REPACKED = ("key", "value", "past_key", "past_value", "key_lengths")

_MADE_FROM = {
    "key_pool": ("key", "past_key"),
    "value_pool": ("value", "past_value"),
    "block_table": ("key_lengths", "key", "past_key"),
    "key_lengths": ("key_lengths",),
    "page_starts": ("key_lengths",),
    "page_indices": ("key_lengths",),
    "last_page_length": ("key_lengths",),
}
"""By whose memory layout an argument lies. Lengths have one axis: keys say in which order those of a table are."""

PAGE_SIZES = (1, 3, 4, 12, 16, 64)
"""From a page for each key to pages longer than most sequences; kernels have 16 to 256. Two are no power of two,
against bit shifts that find pages."""

LARGEST_PAGE_SIZES = (128, 256)
"""Added to the first ones where a sequence has `_MANY_KEYS` or more: in a shorter one, each would be its only page."""

_MANY_KEYS = 193

PAGE_SIZES_OF_WIDE_TOKENS = (2, 5, 24, 32, 40, 96)
"""Others, where a token has more than `_NARROW` numbers: some are no multiple of 16, the tile of many kernels."""

_NARROW = 8
"""Numbers of a key and a value of one head up to which pages have the first sizes, on which golden cases count."""

_SPARE = 3
"""Pages that belong to nobody."""

_MANY_SLOTS = 3 * 2**15
"""More slots than 16 bits count, signed or not: a third of them lies beyond. Some pools have so many."""

_LITTLE_ROOM = 2
"""Numbers in a slot of both pools together, up to which a pool may have so many: 1.5 MiB in float64."""

_ONE_IN = 3
"""In how many of the cases with little room a pool has so many slots: each takes milliseconds."""

_OUT_OF_RANGE = 1_000_000_007
"""A page that no pool has: who reads it fails, and is not merely wrong."""

_LARGE_KEY, _LARGE_VALUE = 64.0, 512.0
"""Large beside what cases hold; 64 products of such keys still are numbers in float16."""


class _Paged(NamedTuple):
    """Keys and values in their pages: pools (pages, page size, Hkv, E or Ev), and each sequence's pages in order.

    `spare` pages belong to no sequence.
    """

    key_pool: NDArray[Any]
    value_pool: NDArray[Any]
    pages: tuple[NDArray[np.int64], ...]
    spare: NDArray[np.int64]
    size: int


def paged(*, by_list: bool, heads_first: bool) -> Layout:
    """Return a layout with pages, whose order is in one list of all sequences or in a table with a row for each.

    With `heads_first`, heads come before tokens in a page.
    """

    def arrange(
        operation: str, inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances
    ) -> Repacked | str | None:
        if operation != OPERATION:
            return None
        sequences = sequences_of(inputs, attributes, circumstances, _REPACKED)
        if isinstance(sequences, str):
            return sequences
        in_pages = _in_pages(sequences, inputs, attributes, circumstances)
        pools = {"key_pool": in_pages.key_pool, "value_pool": in_pages.value_pool}
        if heads_first:
            pools = {name: np.ascontiguousarray(pool.swapaxes(1, 2)) for name, pool in pools.items()}
        if by_list:
            tables = _list_arguments(in_pages, sequences.key_lengths)
        else:
            tables = _table_arguments(in_pages, sequences.key_lengths, strict="strict_table" in circumstances.settings)
        query, value = inputs["query"], inputs["value"]

        def restore(outputs: Arrays) -> Arrays | str:
            return wrong_outputs(outputs, query.shape[:3], value.shape[3]) or outputs

        others = {name: array for name, array in inputs.items() if name not in (*_REPACKED, "query")}
        laid_out = strided_like_inputs({**pools, **tables}, _MADE_FROM, inputs, swapped=(1, 2))
        return Repacked({"query": query, **laid_out, **others}, sequences.attributes, restore)

    return arrange


def _in_pages(
    sequences: Sequences, inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances
) -> _Paged:
    draw, before = pseudorandom_number(inputs, attributes), circumstances.before
    said = circumstances.settings.get("page_size")
    wide = sum(inputs[name].shape[3] for name in ("key", "value")) > _NARROW
    is_long = int(sequences.key_lengths.max(initial=0)) >= _MANY_KEYS
    narrow = (*PAGE_SIZES, *LARGEST_PAGE_SIZES) if is_long else PAGE_SIZES
    sizes = PAGE_SIZES_OF_WIDE_TOKENS if wide else narrow
    size = sizes[draw % len(sizes)] if said is None else int(said)
    counts = -(-sequences.key_lengths // size)
    spare = _spare_page_count(inputs, draw, size)
    order = np.random.default_rng([draw, before]).permutation(int(counts.sum()) + spare)
    pages = tuple(np.split(order, np.cumsum(counts))[:-1]) if len(counts) else ()
    pages = _shared(pages, sequences, size)
    is_ignored = circumstances.conventions.get("masked_nonfinite", "ignored") == "ignored"
    with_nan = is_ignored and (draw // len(PAGE_SIZES) + before) % 2 == 0
    pools = [
        _pool(of_each, like, pages, (len(order), size), None if with_nan else large, draw)
        for of_each, like, large in (
            (sequences.keys, inputs["key"], _LARGE_KEY),
            (sequences.values, inputs["value"], _LARGE_VALUE),
        )
    ]
    return _Paged(pools[0], pools[1], pages, order[len(order) - _SPARE :], size)


def _spare_page_count(inputs: Arrays, draw: int, size: int) -> int:
    """Count the pages that belong to nobody: few, or so many that numbers of slots no longer fit 16 bits."""
    numbers = sum(inputs[name].shape[1] * inputs[name].shape[3] for name in ("key", "value"))
    has_many = numbers <= _LITTLE_ROOM and draw % (_ONE_IN * len(PAGE_SIZES)) < len(PAGE_SIZES)
    return -(-_MANY_SLOTS // size) if has_many else _SPARE


def _shared(pages: tuple[NDArray[np.int64], ...], sequences: Sequences, size: int) -> tuple[NDArray[np.int64], ...]:
    """Return the pages, those of an earlier sequence where another begins with the same full pages, as engines do.

    A sequence that is the beginning of an earlier one has its last page from that, too, though it fills it only in
    part. The pages that a sequence thereby does not need belong to nobody.
    """
    shared: list[NDArray[np.int64]] = []
    tokens = list(zip(sequences.keys, sequences.values, strict=True))
    for own, tokens_of_one in zip(pages, tokens, strict=True):
        earlier = [_shareable_page_count(tokens_of_one, other, size) for other in tokens[: len(shared)]]
        most = max(earlier, default=0)
        prefix = shared[earlier.index(most)][:most] if most else own[:0]
        shared.append(np.concatenate([prefix, own[most:]]))
    return tuple(shared)


def _shareable_page_count(
    tokens_of_one: tuple[NDArray[Any], NDArray[Any]], other: tuple[NDArray[Any], NDArray[Any]], size: int
) -> int:
    """Count the pages of one sequence, keys (H, L, E) and values (H, L, Ev), that it can have from an earlier one."""
    length = min(tokens_of_one[0].shape[1], other[0].shape[1])
    differ = np.zeros(length, dtype=np.bool_)
    for one, another in zip(tokens_of_one, other, strict=True):
        differ |= np.any(one[:, :length] != another[:, :length], axis=(0, 2))
    alike = int(differ.argmax()) if differ.any() else length
    is_a_beginning = alike == tokens_of_one[0].shape[1]
    return -(-alike // size) if is_a_beginning else alike // size


def _pool(
    sequences: Sequence[NDArray[Any]],
    like: NDArray[Any],
    pages: Sequence[NDArray[np.int64]],
    extent: tuple[int, int],
    large: float | None,
    draw: int,
) -> NDArray[Any]:
    """Return a pool (pages, page size, H, E) with each sequence (H, L, E) in its pages, and poison elsewhere.

    `extent` is the number of pages and their size, `large` the size of the poison (None for NaN), `draw` its seed. No
    two slots hold the same, so that it shows which one was read. `like` gives the other lengths and the dtype.
    """
    shape = (*extent, like.shape[1], like.shape[3])
    if large is None:
        pool = np.full(shape, np.nan).astype(like.dtype)
    else:
        random = np.random.default_rng([draw, shape[-1]])
        pool = (large * random.uniform(1.0, 2.0, shape) * random.choice([-1.0, 1.0], shape)).astype(like.dtype)
    for sequence, of_sequence in zip(sequences, pages, strict=True):
        number, slot = np.divmod(np.arange(int(sequence.shape[1])), extent[1])
        pool[of_sequence[number], slot] = sequence.swapaxes(0, 1)
    return pool


def _table_arguments(paged: _Paged, key_lengths: NDArray[np.int64], *, strict: bool) -> dict[str, NDArray[Any]]:
    """Return the table, whose rows all are longer than any sequence needs, and the lengths."""
    most = max((len(of_sequence) for of_sequence in paged.pages), default=0) + 1
    table = np.empty((len(paged.pages), most), dtype=np.int64)
    stale = np.concatenate([paged.spare, *paged.pages])
    for row, of_sequence in zip(table, paged.pages, strict=True):
        # Spare pages first, then those of others: rows that were used before hold what is no longer theirs.
        row[:] = _OUT_OF_RANGE if strict else np.resize(stale, most)
        row[: len(of_sequence)] = of_sequence
    return {"block_table": table, "key_lengths": key_lengths}


def _list_arguments(paged: _Paged, key_lengths: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return where the pages of each sequence begin in the list, the list, and how long the last page is."""
    counts = [len(of_sequence) for of_sequence in paged.pages]
    # With no pages it is not read: it would count some keys, or fewer than none.
    meaningless = np.resize([3 * paged.size + 2, 2 * paged.size, paged.size + 1, -paged.size, 0], len(counts))
    return {
        "page_starts": np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)]),
        "page_indices": np.concatenate([*paged.pages, paged.spare, *paged.pages[:1]]),
        "last_page_length": np.where(key_lengths > 0, (key_lengths - 1) % paged.size + 1, meaningless),
    }
