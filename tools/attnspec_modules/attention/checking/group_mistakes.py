"""Usual mistakes of heads that share keys and values, each with how the heads of queries find theirs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attnspec_modules.attention.checking.composing import Array, Share, shared_by_neighbours


def group_mistakes() -> Iterator[tuple[str, Share]]:
    """Yield sentences, without an end, on how keys and values were shared, and what does it."""
    yield (
        f"the heads of keys and values are {_AS_TILES}",
        lambda keys, values, heads: (
            _tiled(keys, heads),
            _tiled(values, heads),
        ),
    )
    yield (
        f"the heads of keys alone are {_AS_TILES}",
        lambda keys, values, heads: (
            _tiled(keys, heads),
            shared_by_neighbours(keys, values, heads)[1],
        ),
    )
    yield (
        f"the heads of values alone are {_AS_TILES}",
        lambda keys, values, heads: (
            shared_by_neighbours(keys, values, heads)[0],
            _tiled(values, heads),
        ),
    )
    yield (
        "the first head of keys and values serves all heads of queries",
        lambda keys, values, heads: shared_by_neighbours(keys[:, :1], values[:, :1], heads),
    )
    yield (
        "the groups of heads come in reverse",
        lambda keys, values, heads: shared_by_neighbours(keys[:, ::-1], values[:, ::-1], heads),
    )


_AS_TILES = (
    "tiled (0, 1, 0, 1, …), as `repeat` does, where neighbours are to share one (0, 0, …, 1, 1, …), as "
    "`repeat_interleave` does"
)


def _tiled(array: Array, heads: int) -> Array:
    return np.tile(array, (1, heads // array.shape[1], 1, 1))
