"""What goes wrong only where keys are thousands: tiles left out or not corrected, numbers that do not hold a position.

These mistakes are no part of the catalogue that diagnoses are made with: at the size of an ordinary case most of them
are right. Each is computed in tiles, for as many queries as are requested.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Making, Mistake, mistakes_in
from attnspec_reference.precision import Array, Booleans, Integers

_ROWS = 256
"""Queries of a head that are computed together."""


@dataclass(frozen=True)
class State:
    """What a pass over the tiles has so far, for some queries."""

    largest: Array
    """The largest logit (rows, 1); minus infinity at the start."""
    total: Array
    """The sum of the exponentials (rows, 1)."""
    weighed: Array
    """The sum of the weighed values (rows, Ev)."""


def running_maximum(_tile: int, before: Array, logits: Array) -> Array:
    """Return the largest logit so far."""
    return np.maximum(before, logits.max(axis=-1, keepdims=True, initial=-np.inf))


def rescaling(_tile: int, before: Array, after: Array) -> Array:
    """Return the factor of what was summed under a smaller maximum."""
    return np.exp(np.where(before == -np.inf, -np.inf, before - _finite(after)))


def unchanged(numbers: Any) -> Any:
    """Take numbers as they are."""
    return numbers


def by_weight(states: list[State]) -> State:
    """Merge parts by the exponentials of their maxima."""
    largest = np.max([state.largest for state in states], axis=0)
    factors = [
        np.exp(np.where(state.largest == -np.inf, -np.inf, state.largest - _finite(largest))) for state in states
    ]
    total: Array = np.sum([factor * state.total for factor, state in zip(factors, states, strict=True)], axis=0)
    weighed: Array = np.sum([factor * state.weighed for factor, state in zip(factors, states, strict=True)], axis=0)
    return State(largest, total, weighed)


@dataclass(frozen=True)
class Tiles:
    """Attention in tiles of keys, in some parts, and its steps.

    `maximum` has the number of a tile, the maximum before it and its logits; `rescaled`, the factor of what was summed
    before, has the number and both maxima; `takes` the number of a tile and that of all. Others get what they change:
    positions before they are compared, the number of keys that count, distances of ALiBi, sums after each tile, the
    first key of a window, the positions that keys and values are read from, the states of the parts.
    """

    tile: int = 128
    maximum: Callable[[int, Array, Array], Array] = running_maximum
    rescaled: Callable[[int, Array, Array], Array] = rescaling
    takes: Callable[[int, int], bool] = lambda _tile, _tiles: True
    position_of_query: Callable[[Integers], Integers] = unchanged
    position_of_key: Callable[[Integers], Integers] = unchanged
    length: Callable[[Integers], Integers] = unchanged
    distance: Callable[[Array], Array] = unchanged
    summed: Callable[[Array], Array] = unchanged
    from_window: Callable[[Integers], Integers] = unchanged
    read: Callable[[Integers], Integers] = unchanged
    parts: int = 1
    merged: Callable[[list[State]], State] = by_weight

    def __call__(self, **arguments: Any) -> Mapping[str, Array]:
        """Return ``output`` and ``logsumexp`` of all queries."""
        return self.of_rows(arguments, None)

    def of_rows(self, arguments: Mapping[str, Any], rows: Integers | None) -> Mapping[str, Array]:
        """Return ``output`` and ``logsumexp``; of queries whose positions are not among `rows`, zeros."""
        if arguments.get("mask") is not None:
            raise ValueError("Attention in tiles takes no mask.")
        query = np.asarray(arguments["query"])
        batch, heads, queries, _ = query.shape
        working = np.float64 if query.dtype == np.float64 else np.float32
        output = np.zeros((batch, heads, queries, np.shape(arguments["value"])[3]), dtype=working)
        logsumexp = np.full((batch, heads, queries), -np.inf, dtype=working)
        with np.errstate(all="ignore"):
            for entry in range(batch):
                for head in range(heads):
                    one = _Head(arguments, entry, head, working)
                    chosen = one.queries if rows is None else np.intersect1d(one.queries, rows)
                    for start in range(0, chosen.size, _ROWS):
                        some = chosen[start : start + _ROWS]
                        output[entry, head, some], logsumexp[entry, head, some] = self._attend(one, some)
        return {"output": output.astype(query.dtype), "logsumexp": logsumexp.astype(query.dtype)}

    def _attend(self, one: _Head, rows: Integers) -> tuple[Array, Array]:
        position = one.position(rows)
        first, last = one.interval(position, self)
        end = int(min(last.max(initial=-1) + 1, one.keys))
        start = int(max(first.min(initial=0), 0)) // self.tile * self.tile
        tiles = range(start // self.tile, -(-end // self.tile))
        each = max(1, -(-len(tiles) // self.parts))
        states = [
            self._over(one, rows, position, tiles[begin : begin + each]) for begin in range(0, max(len(tiles), 1), each)
        ]
        state = states[0] if len(states) == 1 else self.merged(states)
        if one.sink is not None:
            largest = np.maximum(state.largest, one.sink)
            factor = np.exp(np.where(state.largest == -np.inf, -np.inf, state.largest - largest))
            state = State(largest, state.total * factor + np.exp(one.sink - largest), state.weighed * factor)
        total = np.where(state.total == 0, 1, state.total)
        return state.weighed / total, (_finite(state.largest) + np.log(state.total))[:, 0]

    def _over(self, one: _Head, rows: Integers, position: Integers, tiles: range) -> State:
        state = State(
            np.full((rows.size, 1), -np.inf, dtype=one.dtype),
            np.zeros((rows.size, 1), dtype=one.dtype),
            np.zeros((rows.size, one.value.shape[-1]), dtype=one.dtype),
        )
        number_of_tiles = -(-one.keys // self.tile)
        for number in tiles:
            if not self.takes(number, number_of_tiles):
                continue
            keys = np.arange(number * self.tile, min((number + 1) * self.tile, one.keys))
            state = self._with_tile(state, one, rows, position, number, keys)
        return state

    def _with_tile(
        self, state: State, one: _Head, rows: Integers, position: Integers, number: int, keys: Integers
    ) -> State:
        found = self.read(keys)
        logits = one.logits(rows, found, self.distance(np.abs(position[:, np.newaxis] - keys).astype(one.dtype)))
        logits = np.where(one.attendable(position, keys, self), logits, -np.inf)
        largest = self.maximum(number, state.largest, logits)
        factor = self.rescaled(number, state.largest, largest)
        exponentials = np.exp(logits - _finite(largest))
        return State(
            largest,
            self.summed(state.total * factor + exponentials.sum(axis=-1, keepdims=True)),
            self.summed(state.weighed * factor + exponentials @ one.value[found]),
        )


class _Head:
    """One head of one batch entry: its tensors in the dtype that is computed in, and where its queries stand."""

    def __init__(self, arguments: Mapping[str, Any], entry: int, head: int, dtype: type[Any]) -> None:
        query = np.asarray(arguments["query"])
        shared = head // (query.shape[1] // np.shape(arguments["key"])[1])
        self.dtype = dtype
        self._query = query[entry, head].astype(dtype)
        self._key, self.value = (_tokens(arguments, name, entry, shared).astype(dtype) for name in ("key", "value"))
        self.keys = len(self._key)
        self.end, counted = (
            whole if arguments.get(name) is None else int(arguments[name][entry])
            for name, whole in (("key_lengths", self.keys), ("query_lengths", query.shape[2]))
        )
        self.queries: Integers = np.arange(counted)
        at_end = arguments.get("causal_alignment") == "bottom_right"
        self._offset = self.end - counted if at_end else self.keys - np.shape(arguments["key"])[2]
        scale = arguments.get("scale")
        self._scale = dtype(query.shape[3] ** -0.5 if scale is None else scale)
        self._softcap = arguments.get("softcap")
        self._slope = None if arguments.get("alibi_slopes") is None else dtype(arguments["alibi_slopes"][head])
        self.sink = None if arguments.get("sinks") is None else dtype(arguments["sinks"][head])
        self._is_causal = bool(arguments.get("is_causal"))
        self._window = arguments.get("window") or (None, None)

    def position(self, rows: Integers) -> Integers:
        """Return where queries stand among the keys."""
        return rows + self._offset

    def interval(self, position: Integers, tiles: Tiles) -> tuple[Integers, Integers]:
        """Return the first and the last key that each query may attend."""
        left, right = self._window
        end = int(tiles.length(np.array([self.end]))[0])
        last = np.full_like(position, end - 1)
        if right is not None:
            last = np.minimum(last, position + right)
        if self._is_causal:
            last = np.minimum(last, position) if tiles.position_of_query is unchanged else last
        first = np.zeros_like(position) if left is None else tiles.from_window(position - left)
        return first, last

    def attendable(self, position: Integers, keys: Integers, tiles: Tiles) -> Booleans:
        """Return which of some keys each query may attend (rows, keys)."""
        end = tiles.length(np.array([self.end]))[0]
        seen = tiles.position_of_query(position)[:, np.newaxis]
        ahead = tiles.position_of_key(keys).astype(np.int64) - seen.astype(np.int64)
        attendable = np.broadcast_to(keys < end, ahead.shape)
        left, right = self._window
        if self._is_causal:
            attendable = attendable & (ahead <= 0)
        if left is not None:
            first = tiles.from_window(position - left)[:, np.newaxis]
            attendable = attendable & (keys >= first if tiles.position_of_query is unchanged else ahead >= -left)
        if right is not None:
            attendable = attendable & (ahead <= right)
        return attendable

    def logits(self, rows: Integers, keys: Integers, distances: Array) -> Array:
        """Return the logits of some queries and keys."""
        logits = self._query[rows] @ self._key[keys].T * self._scale
        if self._softcap:
            logits = self._softcap * np.tanh(logits / self._softcap)
        return logits if self._slope is None else logits - self._slope * distances


def _tokens(arguments: Mapping[str, Any], name: str, entry: int, head: int) -> Array:
    parts = [np.asarray(arguments[part]) for part in (f"past_{name}", name) if arguments.get(part) is not None]
    return np.concatenate([part[entry, head] for part in parts])


def _finite(largest: Array) -> Array:
    """Return a maximum that can be subtracted: 0 where there is none yet."""
    return np.where(largest == -np.inf, 0, largest)


_THIRD = 2


@dataclass(frozen=True)
class LastTileDropped:
    """Leaves out the last tile of all keys that count, whole or not."""

    tile: int

    def __call__(self, **arguments: Any) -> Any:
        """Attend to all tiles but the last."""
        return self.of_rows(arguments, None)

    def of_rows(self, arguments: Any, rows: Integers | None) -> Any:
        """Attend to all tiles but the last, with some queries."""
        return Tiles(tile=self.tile, length=self._without_last).of_rows(arguments, rows)

    def _without_last(self, lengths: Integers) -> Integers:
        return (lengths - 1) // self.tile * self.tile


def of_tile_alone(_tile: int, _before: Array, logits: Array) -> Array:
    """Return the largest logit of a tile, without a look at the ones before."""
    return running_maximum(_tile, np.full((logits.shape[0], 1), -np.inf, logits.dtype), logits)


def without_correction(_tile: int, before: Array, _after: Array) -> Array:
    """Correct nothing."""
    return np.ones_like(before)


def averaged(states: list[State]) -> State:
    """Merge parts as if all had the same maximum."""
    return State(
        np.max([state.largest for state in states], axis=0),
        np.sum([state.total for state in states], axis=0),
        np.sum([state.weighed for state in states], axis=0),
    )


def in_16_bits(numbers: Integers) -> Integers:
    """Keep positions in 16 bits without a sign."""
    return numbers.astype(np.uint16).astype(np.int64)


def in_half(numbers: Array) -> Array:
    """Round to float16."""
    return numbers.astype(np.float16).astype(numbers.dtype)


FUNCTIONS: Mapping[str, Making] = {
    **{f"sdpa.long_last_tile_dropped_of_{tile}": LastTileDropped(tile) for tile in (128, 1024, 2048)},
    "sdpa.long_third_tile_not_rescaled": Tiles(
        tile=2048,
        rescaled=lambda tile, before, after: np.ones_like(before) if tile == _THIRD else rescaling(tile, before, after),
    ),
    "sdpa.long_tiles_not_rescaled": Tiles(rescaled=without_correction),
    "sdpa.long_maximum_of_tile_alone": Tiles(tile=1024, maximum=of_tile_alone, rescaled=without_correction),
    "sdpa.long_positions_in_16_bits": Tiles(position_of_query=in_16_bits, position_of_key=in_16_bits),
    "sdpa.long_key_positions_in_16_bits": Tiles(position_of_key=in_16_bits),
    "sdpa.long_lengths_in_16_bits": Tiles(
        length=lambda numbers: np.maximum(numbers.astype(np.int16).astype(np.int64), 0)
    ),
    "sdpa.long_distances_in_float16": Tiles(distance=in_half),
    "sdpa.long_sums_in_float16": Tiles(summed=in_half),
    "sdpa.long_parts_not_weighed": Tiles(tile=64, parts=80, merged=averaged),
    "sdpa.long_parts_beyond_64_lost": Tiles(tile=64, parts=80, merged=lambda states: by_weight(states[:64])),
    "sdpa.long_window_from_tile": Tiles(from_window=lambda first: first // 128 * 128),
    "sdpa.long_window_from_next_tile": Tiles(from_window=lambda first: -(-first // 128) * 128),
    "sdpa.long_block_index_in_8_bits": Tiles(tile=2048, read=lambda keys: keys // 16 % 256 * 16 + keys % 16),
    "sdpa.long_second_tile_skipped": Tiles(tile=2048, takes=lambda tile, _tiles: tile != 1),
}

MISTAKES: tuple[Mistake, ...] = mistakes_in(sys.modules[__name__])
