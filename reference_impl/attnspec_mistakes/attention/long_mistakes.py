"""What goes wrong only where keys are thousands: tiles left out or not corrected, numbers that do not hold a position.

These mistakes are no part of the catalogue that diagnoses are made with: at the size of an ordinary case most of them
are right. Each is computed in tiles, for as many queries as are asked for.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.long_tiles import State, Tiles, rescaling, running_maximum
from attnspec_mistakes.mistake import mistakes_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_mistakes.mistake import Making, Mistake
    from attnspec_reference.precision import Array, Integers

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


def first_sixty_four(states: list[State]) -> State:
    """Merge the first 64 parts alone."""
    from attnspec_mistakes.attention.long_tiles import by_weight

    return by_weight(states[:64])


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
    "sdpa.long_parts_beyond_64_lost": Tiles(tile=64, parts=80, merged=first_sixty_four),
    "sdpa.long_window_from_tile": Tiles(from_window=lambda first: first // 128 * 128),
    "sdpa.long_window_from_next_tile": Tiles(from_window=lambda first: -(-first // 128) * 128),
    "sdpa.long_block_index_in_8_bits": Tiles(tile=2048, read=lambda keys: keys // 16 % 256 * 16 + keys % 16),
    "sdpa.long_second_tile_skipped": Tiles(tile=2048, takes=lambda tile, _tiles: tile != 1),
}

MISTAKES: tuple[Mistake, ...] = mistakes_in(sys.modules[__name__])
