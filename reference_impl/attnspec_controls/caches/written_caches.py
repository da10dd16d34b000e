"""Right implementations that write caches in another way: longer buffers, selections, queues."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import patch
from attnspec_reference.caches.append_cache import AppendedCache, append_cache
from attnspec_reference.caches.scatter_cache import ScatteredCache, put, scatter_cache
from attnspec_reference.caches.write_paged_cache import write_paged_cache
from attnspec_reference.caches.write_slots import WrittenPools, quantize, write_slots
from attnspec_reference.caches.write_window import WrittenWindow, positions_of, slots_of, write_window

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Integers


def into_a_longer_buffer(past: Array, new: Array) -> Array:
    """Copy both into memory with room for more, and return the part that is filled."""
    batch, heads, tokens, width = past.shape
    longer = np.zeros((batch, heads, tokens + new.shape[2] + 4, width), dtype=past.dtype)
    longer[:, :, :tokens] = past
    longer[:, :, tokens : tokens + new.shape[2]] = new
    return longer[:, :, : tokens + new.shape[2]]


def tokens_before_heads(**arguments: Any) -> AppendedCache:
    """Append along the second axis of (B, S, H, E), and return views in the other order."""
    moved = {name: np.ascontiguousarray(np.swapaxes(array, 1, 2)) for name, array in arguments.items()}
    if any(array.ndim != 4 for array in arguments.values()):
        return append_cache(**arguments)
    key, value = (np.concatenate([moved[f"past_{name}"], moved[name]], axis=1) for name in ("key", "value"))
    append_cache(**arguments)
    return AppendedCache(np.swapaxes(key, 1, 2), np.swapaxes(value, 1, 2))


def token_by_token(entry: Array, slots: Integers, tokens: Array) -> None:
    """Assign one token after the other."""
    for slot, token in zip(slots.tolist(), tokens, strict=True):
        entry[slot] = token


def where_in_the_cache(entry: Array, slots: Integers, tokens: Array) -> None:
    """Find for each index of the cache the token that goes there, and select."""
    if not len(slots):
        return
    hits = slots[np.newaxis] == np.arange(len(entry))[:, np.newaxis]
    chosen = tokens[np.argmax(hits, axis=1)]
    entry[...] = np.where(hits.any(axis=1).reshape(-1, *(1,) * (entry.ndim - 1)), chosen, entry)


def in_two_parts(entry: Array, slots: Integers, tokens: Array) -> None:
    """Write up to the end and then from the beginning, a piece each."""
    wraps = np.flatnonzero(np.diff(slots) < 0)
    first = int(wraps[0]) + 1 if wraps.size else len(slots)
    for part in (slice(0, first), slice(first, len(slots))):
        put(entry, slots[part], tokens[part])


def step_by_step(**arguments: Any) -> ScatteredCache:
    """Call once for each step, with the cache of the one before."""
    lengths = arguments.pop("step_lengths", None)
    axis, cache = arguments.get("axis", -2), arguments["cache"]
    if lengths is None or lengths.sum() != arguments["update"].shape[axis]:
        return scatter_cache(**arguments, step_lengths=lengths)
    first = arguments.pop("write_indices", None)
    first = np.zeros(cache.shape[0], dtype=np.int64) if first is None else first
    history, done = list[Any](), 0
    for length in lengths.tolist():
        update = np.take(arguments["update"], range(done, done + length), axis=axis)
        step: dict[str, Any] = {**arguments, "cache": cache, "update": update, "write_indices": first + done}
        cache = scatter_cache(**step).present
        history.append(cache)
        done += length
    return ScatteredCache(cache, np.array(history))


def flattened(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Write into the pool as if it had one axis of slots."""
    flat = np.array(pool).reshape(-1, *pool.shape[2:])
    for slot, token in zip(slots.tolist(), tokens, strict=True):
        if slot >= 0:
            flat[slot] = token
    return flat.reshape(pool.shape)


def with_a_spare_slot(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Let what is skipped be written into a slot behind the pool, which is then cut off."""
    flat = np.array(pool).reshape(-1, *pool.shape[2:])
    longer = np.concatenate([flat, np.zeros_like(flat[:1])])
    longer[np.where(slots < 0, len(flat), slots)] = tokens
    return longer[:-1].reshape(pool.shape)


def in_wide_precision(tokens: Array, scale: Any, dtype: np.dtype[Any]) -> Array:
    """Divide in float64, whatever the dtype."""
    return tokens if scale is None else quantize(tokens.astype(np.float64), np.asarray(scale, np.float64), dtype)


def by_reciprocal(tokens: Array, scale: Any, dtype: np.dtype[Any]) -> Array:
    """Multiply by the reciprocal of the scale."""
    if scale is None:
        return tokens
    working = np.dtype(np.float64) if tokens.dtype == np.float64 else np.dtype(np.float32)
    reciprocal = np.ones((), working) / np.asarray(scale).astype(working)
    return quantize(tokens.astype(working) * reciprocal[..., np.newaxis], np.ones_like(reciprocal), dtype)


def by_table(**arguments: Any) -> WrittenPools:
    """Turn the list of pages into a table with a row for each sequence, and look pages up there."""
    starts, pages = arguments["page_starts"], arguments["page_indices"]
    longest = max(np.diff(starts), default=0)
    table = np.full((len(starts) - 1, longest), -1, dtype=np.int64)
    for sequence, start in enumerate(starts[:-1]):
        table[sequence, : starts[sequence + 1] - start] = pages[start : starts[sequence + 1]]

    def in_table(sequences: Integers, positions: Integers, pages: Integers, starts: Integers, size: int) -> Integers:
        del pages, starts
        return table[sequences, positions // size]

    return patch(write_paged_cache, page_of=in_table)(**arguments)


def by_queue(**arguments: Any) -> WrittenWindow:
    """Keep a queue of the slots that can be replaced, the oldest first."""
    keep, length = arguments.get("keep", 0), arguments["key_cache"].shape[2]
    past, new = arguments["past_lengths"], arguments["key"].shape[2]
    if not 0 <= keep < length:
        return write_window(**arguments)
    slots = np.zeros((len(past), new), dtype=np.int64)
    for entry, count in enumerate(past.tolist()):
        queue = deque(range(keep, length))
        queue.rotate(-max(count - keep, 0))
        for token in range(new):
            if count + token < keep:
                slots[entry, token] = count + token
            else:
                slots[entry, token] = queue[0]
                queue.rotate(-1)

    def queued(*_: Any) -> Integers:
        return slots

    return patch(write_window, slots_of=queued)(**arguments)


def last_ones_alone(**arguments: Any) -> WrittenWindow:
    """Write of each slot's tokens the last one alone."""
    if arguments.get("step_lengths") is not None:
        return write_window(**arguments)
    write_window(**arguments)
    key, value = np.array(arguments["key_cache"]), np.array(arguments["value_cache"])
    slots = slots_of(
        positions_of(arguments["past_lengths"], arguments["key"].shape[2]), key.shape[2], arguments.get("keep", 0)
    )
    for entry, row in enumerate(slots.tolist()):
        for slot in set(row):
            token = max(index for index, other in enumerate(row) if other == slot)
            key[entry, :, slot] = arguments["key"][entry, :, token]
            value[entry, :, slot] = arguments["value"][entry, :, token]
    return WrittenWindow(key, value, None, None)


CONTROLS: tuple[Control, ...] = (
    Control(
        id="append.into_a_longer_buffer",
        operation="append_cache",
        sentence="Both are copied into memory with room for more, of which a part is returned.",
        function=patch(append_cache, behind=into_a_longer_buffer),
    ),
    Control(
        id="append.tokens_before_heads",
        operation="append_cache",
        sentence="Tokens lie before heads in memory, and what is returned are views.",
        function=tokens_before_heads,
    ),
    Control(
        id="scatter.token_by_token",
        operation="scatter_cache",
        sentence="One token is assigned after the other.",
        function=patch(scatter_cache, put=token_by_token),
    ),
    Control(
        id="scatter.by_selection",
        operation="scatter_cache",
        sentence="For each index of the cache, the token is found that goes there.",
        function=patch(scatter_cache, put=where_in_the_cache),
    ),
    Control(
        id="scatter.in_two_parts",
        operation="scatter_cache",
        sentence="What goes over the end is written in two pieces.",
        function=patch(scatter_cache, put=in_two_parts),
    ),
    Control(
        id="scatter.step_by_step",
        operation="scatter_cache",
        sentence="Each step is a call of its own.",
        function=step_by_step,
    ),
    Control(
        id="slots.flattened",
        operation="write_slots",
        sentence="The pool is written as if it had one axis of slots.",
        function=patch(write_slots, written=flattened),
    ),
    Control(
        id="slots.with_a_spare_slot",
        operation="write_slots",
        sentence="What is skipped goes into a slot behind the pool, which is cut off.",
        function=patch(write_slots, written=with_a_spare_slot),
    ),
    Control(
        id="slots.divided_in_float64",
        operation="write_slots",
        sentence="Quotients are kept in float64, whatever the dtype.",
        function=patch(write_slots, quantize=in_wide_precision),
    ),
    Control(
        id="slots.by_reciprocal",
        operation="write_slots",
        sentence="Tokens are multiplied by the reciprocal of the scale.",
        function=patch(write_slots, quantize=by_reciprocal),
    ),
    Control(
        id="pages.by_table",
        operation="write_paged_cache",
        sentence="Pages are looked up in a table with a row for each sequence.",
        function=by_table,
    ),
    Control(
        id="pages.flattened",
        operation="write_paged_cache",
        sentence="The pool is written as if it had one axis of slots.",
        function=patch(write_paged_cache, write_slots=patch(write_slots, written=flattened)),
    ),
    Control(
        id="window.by_queue",
        operation="write_window",
        sentence="The slots that can be replaced stand in a queue.",
        function=by_queue,
    ),
    Control(
        id="window.last_ones_alone",
        operation="write_window",
        sentence="Of the tokens that share a slot, the last one alone is written.",
        function=last_ones_alone,
    ),
)
