"""Append cache: new keys and values behind those of the past.

The specification page is ``spec/operations/caches/append_cache.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array


class AppendedCache(NamedTuple):
    """What :func:`append_cache` returns."""

    present_key: Array
    present_value: Array


def append_cache(past_key: ArrayLike, past_value: ArrayLike, key: ArrayLike, value: ArrayLike) -> AppendedCache:
    """Put new keys and values behind those of the past.

    Parameters
    ----------
    past_key
        Keys of earlier tokens (B, H, P, E). Float64, float32, float16 or bfloat16.
    past_value
        Their values (B, H, P, Ev).
    key
        Keys of new tokens (B, H, S, E).
    value
        Their values (B, H, S, Ev).

    Returns
    -------
    present_key
        All keys (B, H, P+S, E), in memory of their own.
    present_value
        All values (B, H, P+S, Ev).

    Raises
    ------
    ValueError
        Past and new tensors differ in another axis than that of tokens, or keys and values in their numbers.
    """
    # Check the inputs
    check_inputs(np.shape(past_key), np.shape(past_value), np.shape(key), np.shape(value))

    # Put the new tokens behind the past ones
    return AppendedCache(
        behind(np.asarray(past_key), np.asarray(key)), behind(np.asarray(past_value), np.asarray(value))
    )


def check_inputs(
    past_key: tuple[int, ...], past_value: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]
) -> None:
    """Refuse tensors that do not follow each other along the axis of tokens."""
    for name, past, new in (("key", past_key, key), ("value", past_value, value)):
        if len(past) != 4 or past[:2] + past[3:] != new[:2] + new[3:]:
            raise ValueError(
                f"past_{name} has shape {past}, {name} {new}; both need rank 4 and may differ in their tokens alone."
            )
    if (past_key[:3], key[2]) != (past_value[:3], value[2]):
        raise ValueError(
            f"There are {past_key[:3]} past keys and {past_value[:3]} values, {key[2]} and {value[2]} new."
        )


def behind(past: Array, new: Array) -> Array:
    """Put new tokens behind past ones."""
    return np.concatenate([past, new], axis=2)
