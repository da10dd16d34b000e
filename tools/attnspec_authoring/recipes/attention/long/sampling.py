"""Which elements of a long output are certified: rows where tiles begin and end, and others at random."""

from __future__ import annotations

from typing import NamedTuple

from attnspec.cases.generator import fnv1a64, splitmix64

TILES = (16, 32, 64, 128, 256, 1024, 2048)
"""Sizes of the tiles into which kernels cut queries and keys."""

FEW_TILES = (64, 128, 2048)
"""Those of them that are looked at where there are many heads."""

MANY_HEADS = 4
"""From so many heads on, fewer borders of each are looked at."""

AT_RANDOM = 24
"""Rows of a head that are drawn; with those of the borders, a fault in 4 % of them is found with 95 %."""


class Extents(NamedTuple):
    """The extents of an output: B, Hq, Sq, Ev."""

    batch: int
    heads: int
    queries: int
    features: int


def sample_of(seed: str, extents: Extents, *, features: int, at_random: int = AT_RANDOM) -> dict[str, tuple[int, ...]]:
    """Return output to the flat indices of the elements that are certified.

    Parameters
    ----------
    seed
        The text that rows and features are drawn by.
    extents
        Those of the output.
    features
        How many features of a row are certified: the first, the last and others, in each head other ones.
    at_random
        How many rows of a head are drawn beside those at the borders of tiles.
    """
    batch, heads, queries, width = extents
    output: list[int] = []
    logsumexp: list[int] = []
    for head in range(batch * heads):
        tiles = TILES if batch * heads < MANY_HEADS else FEW_TILES
        rows = borders(queries, tiles) | _drawn(f"{seed}/rows/{head}", queries, at_random)
        chosen = _features(f"{seed}/features/{head}", width, features)
        for row in sorted(rows):
            start = head * queries + row
            logsumexp.append(start)
            output += (start * width + feature for feature in chosen)
    return {"output": tuple(output), "logsumexp": tuple(logsumexp)}


def borders(queries: int, tiles: tuple[int, ...]) -> set[int]:
    """Return the first and last rows, and those where the first, second, third and last tile of each size meet."""
    rows = {0, 1, queries // 2, queries - 2, queries - 1}
    for tile in tiles:
        last = (queries - 1) // tile * tile
        rows |= {tile - 1, tile, 2 * tile, 2 * tile + tile // 2, 3 * tile - 1, 3 * tile, last - 1, last}
    return {row for row in rows if 0 <= row < queries}


def _drawn(seed: str, below: int, count: int) -> set[int]:
    base = fnv1a64(seed)
    return {splitmix64(base + number) % below for number in range(count)}


def _features(seed: str, width: int, count: int) -> list[int]:
    if count >= width:
        return list(range(width))
    chosen = {0, width - 1}
    number, base = 0, fnv1a64(seed)
    while len(chosen) < count:
        chosen.add(splitmix64(base + number) % width)
        number += 1
    return sorted(chosen)
