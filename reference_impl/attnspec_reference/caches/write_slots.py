"""Write slots: each token into the slot of a pool of pages that a mapping names.

The specification page is ``spec/operations/caches/write_slots.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, Integers, quietly, result_dtype, widen


class WrittenPools(NamedTuple):
    """The pools with the new tokens in them, which :func:`write_slots` and ``write_paged_cache`` return."""

    present_key: Array
    present_value: Array


@quietly
def write_slots(
    key_pool: ArrayLike,
    value_pool: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    slot_mapping: ArrayLike,
    key_scale: ArrayLike | None = None,
    value_scale: ArrayLike | None = None,
) -> WrittenPools:
    """Write each token into its slot; a token with a negative one is skipped.

    Parameters
    ----------
    key_pool
        Keys in pages (N, P, H, E). With `key_scale`, in int8 or float8.
    value_pool
        Values in pages (N, P, H, Ev), alike.
    key
        Keys of new tokens (T, H, E).
    value
        Values of new tokens (T, H, Ev).
    slot_mapping
        The slot of each token (T,): the page times P, plus the position in the page. Negative: skipped.
    key_scale
        What keys are divided by before they are rounded, one for each head (H,), or one for all.
    value_scale
        What values are divided by.

    Returns
    -------
    present_key
        The pool of keys with the new ones in it, in its own dtype and in memory of its own.
    present_value
        The pool of values.

    Raises
    ------
    ValueError
        The shapes do not fit, or a slot lies beyond the pools.
    """
    key_pool, value_pool, key, value = (np.asarray(array) for array in (key_pool, value_pool, key, value))
    slots = np.asarray(slot_mapping)
    # Check the inputs
    check_inputs(key_pool.shape, value_pool.shape, key.shape, value.shape)
    check_slots(slots, key.shape[0], key_pool.shape)

    # Quantize
    key, value = quantize(key, key_scale, key_pool.dtype), quantize(value, value_scale, value_pool.dtype)

    # Write
    return WrittenPools(written(key_pool, key, slots), written(value_pool, value, slots))


def check_inputs(
    key_pool: tuple[int, ...], value_pool: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]
) -> None:
    """Refuse tokens that do not fit the pools, and keys that do not fit the values."""
    for name, pool, new in (("key", key_pool, key), ("value", value_pool, value)):
        if len(pool) != 4 or len(new) != 3 or pool[2:] != new[1:]:
            raise ValueError(f"{name}_pool has shape {pool}, {name} {new}; they need (N, P, H, E) and (T, H, E).")
    if key_pool[:3] != value_pool[:3] or key[0] != value[0]:
        raise ValueError(f"The pools have shapes {key_pool} and {value_pool}, the tokens {key} and {value}.")


def check_slots(slots: Integers, tokens: int, pool: tuple[int, ...]) -> None:
    """Refuse slots that are not one for each token, or lie beyond the pool."""
    if slots.shape != (tokens,):
        raise ValueError(f"slot_mapping has shape {slots.shape}; it needs ({tokens},), one for each token.")
    if np.any(slots >= pool[0] * pool[1]):
        raise ValueError(f"slot_mapping has {slots.max()}; the pools have {pool[0] * pool[1]} slots.")


LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "int8": 127.0}
"""The largest number of the dtypes of caches in few bits; int8 goes down to -128."""


def quantize(tokens: Array, scale: ArrayLike | None, dtype: np.dtype[np.generic]) -> Array:
    """Divide tokens by their scale and round them to the dtype of the cache; without a scale they stay as they are."""
    if scale is None:
        return tokens
    working = result_dtype(tokens)
    quotient = widen(tokens, working) / for_each_head(widen(scale, working))
    return to_cache_dtype(saturate(quotient, dtype), dtype)


def for_each_head(scale: Array) -> Array:
    """Turn scales (H,) or one scale into a column beside the features of each head."""
    return scale[..., np.newaxis]


def saturate(quotient: Array, dtype: np.dtype[np.generic]) -> Array:
    """Let what lies beyond the largest number be the largest number, infinity, too; NaN stays."""
    largest = LARGEST[dtype.name]
    return np.clip(quotient, -largest - (dtype.kind == "i"), largest)


def to_cache_dtype(quotient: Array, dtype: np.dtype[np.generic]) -> Array:
    """Round to the nearest number of the dtype, of two to the even one."""
    return (np.rint(quotient) if dtype.kind == "i" else quotient).astype(dtype)


def written(pool: Array, tokens: Array, slots: Integers) -> Array:
    """Copy the pool, and write the tokens that are not skipped into their slots."""
    pool = np.array(pool)
    taken = taken_tokens(slots)
    page, position = pages_of(slots[taken], pool.shape[1])
    pool[page, position] = tokens[taken]
    return pool


def taken_tokens(slots: Integers) -> Integers:
    """Give the indices of the tokens that have a slot."""
    return np.flatnonzero(slots >= 0)


def pages_of(slots: Integers, size: int) -> tuple[Integers, Integers]:
    """Give the page of each slot, and the position in it."""
    return slots // size, slots % size
