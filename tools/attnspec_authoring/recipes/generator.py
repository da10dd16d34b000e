"""Input numbers that any language can make again: integers, hashed and divided.

Those of :func:`grid` have at most seven significant bits, so float64, float32, float16 and bfloat16 all hold them, and
one golden serves all four. Those of :func:`fine_grid` have up to ten, which bfloat16 does not hold. Those of
:func:`decimals` have four decimals: no binary dtype holds them, so that every bit of a number is used in each, and each
dtype has its own golden. All are spread like a bell around 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import RecipeError
from attnspec.cases.generator import bell, fnv1a64, splitmix64
from attnspec.contract.dtypes import follows_run, rounded_to

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


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
    return bell(splitmix64(seed ^ fnv1a64(name)), 0, count, bits=bits).astype(np.float64).reshape(shape)


def require_exact(array: NDArray[Any], dtypes: Iterable[str], *, named: str) -> NDArray[Any]:
    """Return `array` if each of `dtypes` holds all its numbers, NaN and the infinities included."""
    if not follows_run(array):
        return array
    for dtype in dtypes:
        with np.errstate(over="ignore"):
            kept = rounded_to(array, dtype)
        if not np.array_equal(array, kept, equal_nan=True):
            worst = array[(array != kept) & ~np.isnan(array)][0]
            raise RecipeError(f"{named}: {dtype} does not hold {worst!r}; choose a number of fewer bits.")
    return array
