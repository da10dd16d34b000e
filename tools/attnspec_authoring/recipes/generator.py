"""Input numbers that any language can make again: integers, hashed and divided.

Those of :func:`grid` have at most seven significant bits, so float64, float32, float16 and bfloat16 all hold them, and
one golden serves all four. Those of :func:`fine_grid` have up to ten, which bfloat16 does not hold. Those of
:func:`decimals` have four decimals: no binary dtype holds them, so that every bit of a number is used in each, and each
dtype has its own golden. All are spread like a bell around 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import rounded_to
from attnspec.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_INCREMENT = 0x9E3779B97F4A7C15
_MULTIPLIERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_FIELDS = (0, 16, 32, 48)


def grid(name: str, shape: tuple[int, ...], *, seed: int = 0) -> NDArray[np.float64]:
    """Draw multiples of 1/32 that depend on a name alone.

    The base is ``splitmix64(seed ^ FNV1a64(name))``; element i (row-major) hashes ``base + i`` with splitmix64 and
    takes the sum of its four 6-bit fields at the bits 0, 16, 32 and 48, minus 126, over 32.

    Parameters
    ----------
    name
        What the numbers are drawn for, as a rule the id of a case and the name of an input.
    shape
        Shape of the result.
    seed
        Gives other numbers for the same name.

    Returns
    -------
    NDArray[np.float64]
        Float64 of the given shape, exact in every dtype of the suite.
    """
    return _bell(name, shape, seed, bits=6) / 32.0


def fine_grid(name: str, shape: tuple[int, ...], *, seed: int = 0) -> NDArray[np.float64]:
    """Draw multiples of 1/256 as :func:`grid` draws, from fields of 9 bits: exact in float16, mostly not in bfloat16.

    They lie between -1022/256 and 1022/256, with standard deviation 1.155.
    """
    return _bell(name, shape, seed, bits=9) / 256.0


def decimals(name: str, shape: tuple[int, ...], *, seed: int = 0) -> NDArray[np.float64]:
    """Draw multiples of 1/10000 as :func:`grid` draws, from fields of 14 bits: exact in no dtype.

    They lie between -3.2766 and 3.2766, with standard deviation 0.946.
    """
    return _bell(name, shape, seed, bits=14) / 10_000.0


def _bell(name: str, shape: tuple[int, ...], seed: int, *, bits: int) -> NDArray[np.float64]:
    """Return sums of four fields of a hash, less their mean: whole numbers spread like a bell around 0."""
    count = int(np.prod(shape, dtype=np.int64))
    base = splitmix64(seed ^ fnv1a64(name))
    # Sums and products of uint64 arrays are taken modulo 2**64, as the hash wants them.
    hashed = np.arange(count, dtype=np.uint64) + np.uint64((base + _INCREMENT) & _MASK)
    for shift, multiplier in _MULTIPLIERS:
        hashed = (hashed ^ (hashed >> np.uint64(shift))) * np.uint64(multiplier)
    hashed ^= hashed >> np.uint64(31)
    largest = (1 << bits) - 1
    fields = sum((hashed >> np.uint64(field)) & np.uint64(largest) for field in _FIELDS)
    return (np.asarray(fields, dtype=np.float64) - 2.0 * largest).reshape(shape)


def splitmix64(state: int) -> int:
    """Return the output of the generator splitmix64 after one step from `state`."""
    mixed = (state + _INCREMENT) & _MASK
    for shift, multiplier in _MULTIPLIERS:
        mixed = ((mixed ^ (mixed >> shift)) * multiplier) & _MASK
    return mixed ^ (mixed >> 31)


def fnv1a64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of the UTF-8 bytes of `text`."""
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & _MASK
    return digest


def require_exact(array: NDArray[Any], dtypes: Iterable[str], *, named: str) -> NDArray[Any]:
    """Return `array` if each of `dtypes` holds all its numbers, NaN and the infinities included.

    Raises
    ------
    RecipeError
        If a dtype would round or overflow a number.
    """
    if array.dtype.kind != "f":
        return array
    for dtype in dtypes:
        with np.errstate(over="ignore"):
            kept = rounded_to(array, dtype)
        if not np.array_equal(array, kept, equal_nan=True):
            worst = array[(array != kept) & ~np.isnan(array)][0]
            raise RecipeError(f"{named}: {dtype} does not hold {worst!r}; choose a number of fewer bits.")
    return array
