"""Write window: new tokens over the oldest ones of a window, of which the first are kept.

The specification page is ``spec/operations/caches/write_window.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.caches.steps import cut_into_steps
from attnspec_reference.precision import Array, Integers


class WrittenWindow(NamedTuple):
    """What :func:`write_window` returns; histories are None for a single step."""

    present_key: Array
    present_value: Array
    key_history: Array | None
    value_history: Array | None


def write_window(
    key_cache: ArrayLike,
    value_cache: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    past_lengths: ArrayLike,
    step_lengths: ArrayLike | None = None,
    *,
    keep: int = 0,
) -> WrittenWindow:
    """Write new tokens into a window, each over the oldest one that is not kept.

    Parameters
    ----------
    key_cache
        Keys of a window (B, H, L, E) with room for L tokens. Its dtype is that of the result.
    value_cache
        Its values (B, H, L, Ev).
    key
        Keys of new tokens (B, H, S, E).
    value
        Values of new tokens (B, H, S, Ev).
    past_lengths
        How many tokens of each batch entry came before (B,), whether they are still in the window or not.
    step_lengths
        How many of the new tokens come in each step (T,); all in one when None.
    keep
        How many of the first tokens stay for good, fewer than L.

    Returns
    -------
    present_key, present_value
        The window with the new tokens in it, in memory of its own.
    key_history, value_history
        The window after each step, with an axis of steps in front.

    Raises
    ------
    ValueError
        The shapes do not fit, a length is negative, or nothing but kept tokens has room.
    """
    key_cache, value_cache, key, value = (np.asarray(array) for array in (key_cache, value_cache, key, value))
    past = np.asarray(past_lengths)
    # Check the inputs
    check_inputs(key_cache.shape, value_cache.shape, key.shape, value.shape)
    check_lengths(past, key_cache.shape, keep)
    steps = cut_into_steps(step_lengths, key.shape[2])

    # Find the slot of each token
    slots = slots_of(positions_of(past, key.shape[2]), key_cache.shape[2], keep)

    # Write step by step
    keys, values = written(key_cache, key, slots, steps), written(value_cache, value, slots, steps)
    if step_lengths is None:
        return WrittenWindow(keys[-1], values[-1], None, None)
    return WrittenWindow(keys[-1].copy(), values[-1].copy(), keys[1:], values[1:])


def check_inputs(
    key_cache: tuple[int, ...], value_cache: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]
) -> None:
    """Refuse new tokens that do not fit the window, and keys that do not fit the values."""
    for name, cache, new in (("key", key_cache, key), ("value", value_cache, value)):
        if len(cache) != 4 or len(new) != 4 or (*cache[:2], cache[3]) != (*new[:2], new[3]):
            raise ValueError(
                f"{name}_cache has shape {cache}, {name} {new}; both need rank 4 and may differ in their tokens alone."
            )
    if key_cache[2] != value_cache[2] or key[2] != value[2]:
        raise ValueError(f"The caches have shapes {key_cache} and {value_cache}, new tokens {key} and {value}.")


def check_lengths(past: Integers, cache: tuple[int, ...], keep: int) -> None:
    """Refuse lengths that are not one for each batch entry, and a window in which nothing can be replaced."""
    if past.shape != cache[:1] or np.any(past < 0):
        raise ValueError(f"past_lengths is {past.tolist()}; it needs {cache[0]} lengths from 0 on.")
    if not 0 <= keep < cache[2]:
        raise ValueError(f"keep is {keep}; of the {cache[2]} tokens of a window, at least one must be replaceable.")


def positions_of(past: Integers, new: int) -> Integers:
    """Give the position of each new token in its sequence (B, S)."""
    return past[:, np.newaxis] + np.arange(new)


def slots_of(positions: Integers, length: int, keep: int) -> Integers:
    """Give the slot of each position: its own among those that are kept, and else the ring behind them."""
    return np.where(positions < keep, positions, keep + (positions - keep) % (length - keep))


def written(cache: Array, new: Array, slots: Integers, steps: list[slice]) -> Array:
    """Give the cache before the first step and after each one: (T+1, B, H, L, E)."""
    windows = [np.array(cache)]
    for step in steps:
        window = windows[-1].copy()
        for token in range(step.start, step.stop):
            put(window, slots[:, token], new[:, :, token])
        windows.append(window)
    return np.stack(windows)


def put(window: Array, slots: Integers, tokens: Array) -> None:
    """Write one token of each batch entry into its slot; a later token takes it over."""
    window[np.arange(window.shape[0]), :, slots] = tokens
