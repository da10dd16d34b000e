"""Attended blocks: a mask by blocks of queries and keys, and lists of those that a kernel has to visit.

Part of the attention mask, whose page is ``spec/operations/masks/attention_mask.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnspec_reference.precision import Booleans, Integers


def number_of_blocks(length: int, size: int) -> int:
    """Count the blocks of a size that a length takes; the last one may go beyond it."""
    return -(-length // size)


def in_blocks(mask: Booleans, size: Sequence[int]) -> Booleans:
    """Cut a mask (B, H, Sq, Sk) into blocks (B, H, Rq, Rk, queries, keys); nothing beyond its end is attended."""
    batch, heads, queries, keys = mask.shape
    rows, columns = number_of_blocks(queries, size[0]), number_of_blocks(keys, size[1])
    beyond = ((0, 0), (0, 0), (0, rows * size[0] - queries), (0, columns * size[1] - keys))
    return np.pad(mask, beyond).reshape(batch, heads, rows, size[0], columns, size[1]).swapaxes(3, 4)


def blocks_attended(mask: Booleans, size: Sequence[int]) -> Booleans:
    """Say which blocks hold a pair that is attended (B, H, Rq, Rk)."""
    return np.any(in_blocks(mask, size), axis=(-2, -1))


def blocks_attended_whole(mask: Booleans, size: Sequence[int]) -> Booleans:
    """Say of which blocks every pair is attended; one that goes beyond the mask is none of them."""
    return np.all(in_blocks(mask, size), axis=(-2, -1))


def listed(blocks: Booleans) -> tuple[Integers, Integers]:
    """Count the blocks of each row, and give their indices first, in ascending order, and all others behind them."""
    return blocks.sum(axis=-1), np.argsort(~blocks, kind="stable")
