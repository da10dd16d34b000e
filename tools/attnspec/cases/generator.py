"""The generator of input numbers: a hash of a counter, so that any part can be drawn by itself, in any language.

Its algorithm, with a few known words, is in ``spec/generator.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_INCREMENT = 0x9E3779B97F4A7C15
_MULTIPLIERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT = 31
_FIELDS = (0, 16, 32, 48)
_FIELD = (1 << 16) - 1


def splitmix64(state: int) -> int:
    """Return the output of the generator splitmix64 after one step from `state`."""
    mixed = (state + _INCREMENT) & _MASK
    for shift, multiplier in _MULTIPLIERS:
        mixed = ((mixed ^ (mixed >> shift)) * multiplier) & _MASK
    return mixed ^ (mixed >> _LAST_SHIFT)


def fnv1a64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of the UTF-8 bytes of `text`."""
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & _MASK
    return digest


def hashed_counters(base: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return the outputs of splitmix64 after one step from each of `count` states, the first of them `base + first`."""
    # Sums and products of uint64 arrays are taken modulo 2**64, as the hash wants them.
    hashed = np.arange(count, dtype=np.uint64)
    hashed += np.uint64((base + first + _INCREMENT) & _MASK)
    shifted = np.empty_like(hashed)
    for shift, multiplier in _MULTIPLIERS:
        np.right_shift(hashed, np.uint64(shift), out=shifted)
        hashed ^= shifted
        hashed *= np.uint64(multiplier)
    np.right_shift(hashed, np.uint64(_LAST_SHIFT), out=shifted)
    hashed ^= shifted
    return hashed


def bell(base: int, first: int, count: int, *, bits: int) -> NDArray[np.int64]:
    """Return sums of four fields of hashed counters, less their mean: whole numbers spread like a bell around 0.

    The counters begin at `first` and are added to the state `base`; a field is at most 14 bits wide. The numbers lie
    between plus and minus ``2 * (2**bits - 1)``.
    """
    return bell_of(hashed_counters(base, first, count), bits=bits)


def bell_of(words: NDArray[np.uint64], *, bits: int) -> NDArray[np.int64]:
    """Return what `bell` makes of 64-bit words, which are overwritten."""
    hashed = words
    shifted = np.empty_like(hashed)
    largest = (1 << bits) - 1
    hashed &= np.uint64(sum(largest << field for field in _FIELDS))
    # The fields are 16 bits apart and have room to be summed side by side.
    for shift in (32, 16):
        np.right_shift(hashed, np.uint64(shift), out=shifted)
        hashed += shifted
    hashed &= np.uint64(_FIELD)
    numbers = hashed.view(np.int64)
    numbers -= 2 * largest
    return numbers
