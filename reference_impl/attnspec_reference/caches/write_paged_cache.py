"""Write pages: each token at its position into the pages of its sequence.

The specification page is ``spec/operations/caches/write_paged_cache.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.caches.write_slots import WrittenPools, check_inputs, write_slots
from attnspec_reference.precision import Integers


def write_paged_cache(
    key_pool: ArrayLike,
    value_pool: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    batch_indices: ArrayLike,
    positions: ArrayLike,
    page_indices: ArrayLike,
    page_starts: ArrayLike,
) -> WrittenPools:
    """Write each token into the page of its sequence that holds its position.

    Parameters
    ----------
    key_pool
        Keys in pages (N, P, H, E). Float64, float32, float16 or bfloat16.
    value_pool
        Values in pages (N, P, H, Ev), alike.
    key
        Keys of new tokens (T, H, E).
    value
        Values of new tokens (T, H, Ev).
    batch_indices
        The sequence of each token (T,).
    positions
        The position of each token in its sequence (T,).
    page_indices
        The pages of all sequences, one sequence after the other.
    page_starts
        Where the pages of each sequence begin in `page_indices` (B+1,); at last, where they all end.

    Returns
    -------
    present_key
        The pool of keys with the new ones in it, in memory of its own.
    present_value
        The pool of values.

    Raises
    ------
    ValueError
        The shapes do not fit, or a token has no sequence, no page, or a page beyond the pools.
    """
    # Check the inputs
    check_inputs(np.shape(key_pool), np.shape(value_pool), np.shape(key), np.shape(value))
    size, tokens = np.shape(key_pool)[1], np.shape(key)[:1]
    sequences, token_positions = np.asarray(batch_indices), np.asarray(positions)
    pages, starts = np.asarray(page_indices), np.asarray(page_starts)
    check_tokens(sequences, token_positions, tokens, pages, starts, size)

    # Find the page of each token
    page = page_of(sequences, token_positions, pages, starts, size)

    # Find its slot
    slots = slot_of(page, token_positions, size)

    # Write
    return write_slots(key_pool, value_pool, key, value, slots)


def check_tokens(
    sequences: Integers,
    token_positions: Integers,
    tokens: tuple[int, ...],
    pages: Integers,
    starts: Integers,
    size: int,
) -> None:
    """Refuse tokens whose sequence or page there is not."""
    if not sequences.shape == token_positions.shape == tokens:
        raise ValueError(
            f"batch_indices has shape {sequences.shape}, positions {token_positions.shape}; both need {tokens}."
        )
    if starts.ndim != 1 or pages.ndim != 1 or np.any(np.diff(starts) < 0) or np.any(starts[-1:] > pages.size):
        raise ValueError(f"page_starts is {starts.tolist()}; its numbers rise, and end with the pages of all.")
    if np.any(sequences < 0) or np.any(sequences >= starts.size - 1):
        raise ValueError(f"batch_indices is {sequences.tolist()}; there are {starts.size - 1} sequences.")
    if np.any(token_positions < 0) or np.any(token_positions >= np.diff(starts)[sequences] * size):
        raise ValueError(f"positions is {token_positions.tolist()}; a token lies beyond the pages of its sequence.")
    if np.any(pages < 0):
        raise ValueError(f"page_indices is {pages.tolist()}; no page is below 0.")


def page_of(sequences: Integers, token_positions: Integers, pages: Integers, starts: Integers, size: int) -> Integers:
    """Give the page that holds the position of each token: of the pages of its own sequence."""
    return pages[starts[sequences] + token_positions // size]


def slot_of(page: Integers, token_positions: Integers, size: int) -> Integers:
    """Give the slot of each token in the pool."""
    return page * size + token_positions % size
