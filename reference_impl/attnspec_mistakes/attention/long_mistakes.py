"""What goes wrong only where keys are thousands: tiles left out or not corrected, numbers that do not hold a position.

These mistakes are no part of the catalogue that diagnoses are made with: at the size of an ordinary case most of them
are right. Each is computed in tiles, for as many queries as are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.long_tiles import State, Tiles, rescaling, running_maximum
from attnspec_mistakes.mistake import Mistake

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Integers

_THIRD = 2

mistake = partial(Mistake, operation="scaled_dot_product_attention")


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


def not_in_third(tile: int, before: Array, after: Array) -> Array:
    """Correct what was summed, but not when the third tile comes."""
    return np.ones_like(before) if tile == _THIRD else rescaling(tile, before, after)


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


def in_16_bits_signed(numbers: Integers) -> Integers:
    """Keep lengths in 16 bits with a sign; who gets a negative one reads all that a tile has."""
    return np.maximum(numbers.astype(np.int16).astype(np.int64), 0)


def in_half(numbers: Array) -> Array:
    """Round to float16."""
    return numbers.astype(np.float16).astype(numbers.dtype)


def to_tile(first: Integers) -> Integers:
    """Begin a window where a tile begins."""
    return first // 128 * 128


def to_next_tile(first: Integers) -> Integers:
    """Begin a window where the next tile begins."""
    return -(-first // 128) * 128


def blocks_in_a_byte(keys: Integers) -> Integers:
    """Keep the number of a block of 16 keys in 8 bits."""
    return keys // 16 % 256 * 16 + keys % 16


def not_second(tile: int, _tiles: int) -> bool:
    """Leave out the second tile."""
    return tile != 1


MISTAKES: tuple[Mistake, ...] = (
    *(
        mistake(
            id=f"sdpa.long_last_tile_dropped_of_{tile}",
            clause="sdpa.softmax.keys",
            sentence=f"Keys were taken {tile:,} at a time, and the last of these tiles was forgotten.",
            engineer=f"The key loop runs over (length - 1) // {tile} tiles; the last one is never loaded.",
            remedy="Go through all keys, the last tile included.",
            function=LastTileDropped(tile),
        )
        for tile in (128, 1024, 2048)
    ),
    mistake(
        id="sdpa.long_third_tile_not_rescaled",
        clause="sdpa.weights",
        sentence="When the third 2,048 keys held a larger score, what was summed before was not corrected.",
        engineer="An unrolled online softmax of tiles of 2048 skips exp(old_max - new_max) in the third one.",
        remedy="Multiply sum and output so far by exp(old maximum - new maximum) in every tile.",
        function=Tiles(tile=2048, rescaled=not_in_third),
    ),
    mistake(
        id="sdpa.long_tiles_not_rescaled",
        clause="sdpa.weights",
        sentence="When a larger score came, nothing that had been summed before was corrected.",
        engineer="Online softmax in tiles of 128 without the factor exp(old_max - new_max).",
        remedy="Multiply sum and output so far by exp(old maximum - new maximum).",
        function=Tiles(rescaled=without_correction),
    ),
    mistake(
        id="sdpa.long_maximum_of_tile_alone",
        clause="sdpa.weights",
        sentence="The largest score was looked for in each tile alone, and tiles were summed as they were.",
        engineer="The row maximum is not carried over: each tile of 1024 has its own, and nothing is corrected.",
        remedy="Carry the largest score so far along, and correct by it.",
        function=Tiles(tile=1024, maximum=of_tile_alone, rescaled=without_correction),
    ),
    mistake(
        id="sdpa.long_positions_in_16_bits",
        clause="sdpa.causal.top_left",
        sentence="Positions were kept in 16 bits, so that they begin again at 0 behind the 65,535th.",
        engineer="Query and key positions are uint16 where causality compares them.",
        remedy="Keep positions in 32 bits.",
        function=Tiles(position_of_query=in_16_bits, position_of_key=in_16_bits),
    ),
    mistake(
        id="sdpa.long_key_positions_in_16_bits",
        clause="sdpa.causal.top_left",
        sentence="The positions of keys were kept in 16 bits, those of queries were not.",
        engineer="Key positions are uint16 where causality and windows compare them, query positions int32.",
        remedy="Keep all positions in 32 bits.",
        function=Tiles(position_of_key=in_16_bits),
    ),
    mistake(
        id="sdpa.long_lengths_in_16_bits",
        clause="sdpa.key_lengths.exclusion",
        sentence="Lengths were kept in 16 bits with a sign, so that from 32,768 on they are negative.",
        engineer="key_lengths are read as int16; a negative length leaves no key.",
        remedy="Keep lengths in 32 bits.",
        function=Tiles(length=in_16_bits_signed),
    ),
    mistake(
        id="sdpa.long_distances_in_float16",
        clause="sdpa.alibi.distance",
        sentence="Distances were kept in float16, which rounds them from 2,049 on.",
        engineer="ALiBi's position differences are float16: odd ones beyond 2048 are rounded.",
        remedy="Keep distances as integers, or in float32.",
        function=Tiles(distance=in_half),
    ),
    mistake(
        id="sdpa.long_sums_in_float16",
        clause="sdpa.output",
        sentence="Sums were kept in float16 from tile to tile, and lost what is small beside them.",
        engineer="Accumulators are rounded to float16 after each tile of 128.",
        remedy="Keep sums in float32 or wider.",
        function=Tiles(summed=in_half),
    ),
    mistake(
        id="sdpa.long_parts_not_weighed",
        clause="sdpa.output",
        sentence="The keys were attended to in 80 parts, which were added without regard to their maxima.",
        engineer="Split-KV partials are summed without exp(max - overall max).",
        remedy="Weigh each part by the exponential of its maximum, or of its logsumexp.",
        function=Tiles(tile=64, parts=80, merged=averaged),
    ),
    mistake(
        id="sdpa.long_parts_beyond_64_lost",
        clause="sdpa.softmax.keys",
        sentence="The keys were attended to in parts, of which the first 64 were merged and the others lost.",
        engineer="The split-KV reduction has a lane each for 64 partials; more than 64 are never read.",
        remedy="Merge all parts.",
        function=Tiles(tile=64, parts=80, merged=first_sixty_four),
    ),
    mistake(
        id="sdpa.long_window_from_tile",
        clause="sdpa.window.left",
        sentence="A window began where a tile of 128 keys begins, and let in keys before it.",
        engineer="The first key of a window is rounded down to a tile, and not masked inside it.",
        remedy="Exclude the keys of the first tile that lie before the window.",
        function=Tiles(from_window=to_tile),
    ),
    mistake(
        id="sdpa.long_window_from_next_tile",
        clause="sdpa.window.left",
        sentence="A window began where the next tile of 128 keys begins, and lost keys before it.",
        engineer="The first tile of a window is rounded up.",
        remedy="Load the tile in which the window begins.",
        function=Tiles(from_window=to_next_tile),
    ),
    mistake(
        id="sdpa.long_block_index_in_8_bits",
        clause="sdpa.softmax.keys",
        sentence="The number of a block of 16 keys was kept in 8 bits, so that keys beyond 4,095 are never read.",
        engineer="A block index is uint8: block 256 reads block 0 again.",
        remedy="Keep the index of a block in 32 bits.",
        function=Tiles(tile=2048, read=blocks_in_a_byte),
    ),
    mistake(
        id="sdpa.long_second_tile_skipped",
        clause="sdpa.softmax.keys",
        sentence="The second tile of 2,048 keys was left out.",
        engineer="A double-buffered loop over tiles of 2048 never waits for its second load.",
        remedy="Go through every tile.",
        function=Tiles(tile=2048, takes=not_second),
    ),
)
