"""Scatter cache: new tokens into a cache, for each batch entry from an index of its own on.

The specification page is ``spec/operations/caches/scatter_cache.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.caches.steps import cut_into_steps
from attnspec_reference.precision import Array, Integers


class ScatteredCache(NamedTuple):
    """What :func:`scatter_cache` returns; ``history`` is None for a single step."""

    present: Array
    history: Array | None


def scatter_cache(
    cache: ArrayLike,
    update: ArrayLike,
    write_indices: ArrayLike | None = None,
    step_lengths: ArrayLike | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> ScatteredCache:
    """Write new tokens into a cache, from an index on.

    Parameters
    ----------
    cache
        A cache (B, ..., L, ...) with room for L tokens along `axis`. Its dtype is that of the result.
    update
        New tokens (B, ..., S, ...), of the shape of the cache but for `axis`.
    write_indices
        Where the first new token of each batch entry goes (B,); 0 when None.
    step_lengths
        How many of the new tokens come in each step (T,); all in one when None.
    axis
        The axis of tokens, any but that of the batch.
    mode
        ``linear``: tokens must not go beyond the end. ``circular``: they go on at the beginning.

    Returns
    -------
    present
        The cache with the new tokens in it, in memory of its own.
    history
        The cache after each step (T, B, ..., L, ...).

    Raises
    ------
    ValueError
        The shapes do not fit, a step is too long, tokens go beyond the end, or the mode is unknown.
    """
    cache, update = np.asarray(cache), np.asarray(update)
    # Check the inputs
    check_inputs(cache.shape, update.shape, axis)
    indices = first_indices(write_indices, cache.shape[0])
    length, new = cache.shape[axis], update.shape[axis]
    steps = cut_into_steps(step_lengths, new)
    check_ends(indices, new, steps, length, mode)

    # Find the index of each token
    slots = slots_of(indices, new, length, mode)

    # Write step by step
    present = np.array(cache)
    entries, tokens = np.moveaxis(present, axis, 1), np.moveaxis(update, axis, 1)
    history = np.empty((len(steps), *present.shape), dtype=present.dtype)
    for number, step in enumerate(steps):
        for entry, entry_slots, entry_tokens in zip(entries, slots, tokens, strict=True):
            put(entry, entry_slots[step], entry_tokens[step])
        history[number] = present
    return ScatteredCache(present, None if step_lengths is None else history)


def check_inputs(cache: tuple[int, ...], update: tuple[int, ...], axis: int) -> None:
    """Refuse an update that differs from the cache beside the axis of tokens, and an axis that is none of tokens."""
    if len(cache) != len(update) or axis % len(cache) == 0:
        raise ValueError(
            f"cache has shape {cache}, update {update}, axis is {axis}; the first axis is that of the batch."
        )
    fitting = list(cache)
    fitting[axis] = update[axis]
    if tuple(fitting) != update:
        raise ValueError(f"cache has shape {cache}, update {update}; they may differ along axis {axis} alone.")


def first_indices(write_indices: ArrayLike | None, batch: int) -> Integers:
    """Give the index of the first new token of each batch entry."""
    indices = np.zeros(batch, dtype=np.int64) if write_indices is None else np.asarray(write_indices)
    if indices.shape != (batch,):
        raise ValueError(f"write_indices has shape {indices.shape}; it needs ({batch},), one for each batch entry.")
    return indices


def check_ends(indices: Integers, new: int, steps: list[slice], length: int, mode: str) -> None:
    """Refuse an unknown mode, a step that is longer than the cache, and tokens beyond its ends."""
    if mode not in ("linear", "circular"):
        raise ValueError(f"mode is {mode!r}; it must be 'linear' or 'circular'.")
    if any(step.stop - step.start > length for step in steps):
        raise ValueError(f"A step has more tokens than the cache, which has room for {length}.")
    if np.any(indices < 0) or (mode == "linear" and np.any(indices + new > length)):
        raise ValueError(f"From write_indices {indices.tolist()} on, {new} tokens do not fit into {length}.")


def slots_of(indices: Integers, new: int, length: int, mode: str) -> Integers:
    """Give the index in the cache of each new token (B, S)."""
    slots = indices[:, np.newaxis] + np.arange(new)
    return slots % length if mode == "circular" else slots


def put(entry: Array, slots: Integers, tokens: Array) -> None:
    """Write tokens into an array of one batch entry; no other number of it changes."""
    entry[slots] = tokens
