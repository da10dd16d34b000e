"""The classes of numbers that a table of cases draws from, and the dtypes in which each is offered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE
from attnspec_authoring.recipes.generator import decimals, fine_grid, grid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

CLASSES: tuple[str, ...] = ("full", "float16", "bfloat16", "large", "tiny", "cancelling", "rising", "negative")
"""Full: every bit of float64 and of float32 is used. The classes after the first three are changes to one of those."""

DTYPES: Mapping[str, tuple[str, ...]] = {
    "float16": ("float64", "float32", "float16"),
    "bfloat16": EVERY_DTYPE,
    "rising": EVERY_DTYPE,
    "negative": EVERY_DTYPE,
}
_FULL = ("full", "large", "tiny")


def dtypes_of(numbers: str) -> tuple[str, ...]:
    """Return the dtypes in which a case of a class of numbers is offered."""
    return DTYPES.get(numbers, SINGLE_AND_DOUBLE)


def is_exact(numbers: str) -> bool:
    """Tell whether the numbers are exact in every dtype in which they are offered."""
    return numbers not in _FULL


def drawing(numbers: str) -> Callable[[str, tuple[int, ...]], NDArray[np.float64]]:
    """Return what draws the ordinary numbers of a class, from a name and a shape."""
    return decimals if numbers in _FULL else fine_grid if numbers in ("float16", "cancelling") else grid


def attention_numbers(
    numbers: str, name: str, shapes: Mapping[str, tuple[int, ...]], *, past: int
) -> dict[str, NDArray[Any]]:
    """Draw queries, keys and values of a class; past ones are the first ones of a longer draw.

    Parameters
    ----------
    numbers
        One of `CLASSES`.
    name
        What the numbers are drawn for.
    shapes
        Shapes of ``query``, ``key`` and ``value``, the last two with the past.
    past
        How many keys and values go to ``past_key`` and ``past_value``.
    """
    draw = drawing(numbers)
    drawn = {tensor: draw(f"{name}/{tensor}", shape) for tensor, shape in shapes.items()}
    query, key, value = drawn["query"], drawn["key"], drawn["value"]
    keys = key.shape[2]
    if numbers == "large":
        query = np.round(query * 4.0, 4)
    elif numbers == "tiny":
        # Below the numbers that some add to a divisor, so that such an addition shows.
        value = np.round(value * 1e4) / 1e12
    elif numbers == "cancelling":
        # After the first key, neighbours nearly tie two by two, and their values nearly cancel. Were they to cancel
        # fully, the tolerance would hold right orders of summation to less than one rounding of a part.
        places: NDArray[np.int64] = np.arange(keys, dtype=np.int64)
        second: NDArray[np.bool_] = (places > 0) & (places % 2 == 0)
        of_first: NDArray[np.int64] = places - second
        key = key[:, :, of_first] + second[:, np.newaxis] * key / 8.0
        value = np.where(second[:, np.newaxis], value / 4.0 - value[:, :, of_first], value)
    elif numbers == "rising":
        # A maximum that rises from tile to tile: the first feature of a key is larger the later it stands.
        query = np.concatenate([np.abs(query[..., :1]) / 2.0 + 1.0, query[..., 1:]], axis=-1)
        first = np.round(np.linspace(-24.0, 24.0, keys)[:, np.newaxis] + 2.0 * key[..., :1]) / 8.0
        key = np.concatenate([first, key[..., 1:]], axis=-1)
    elif numbers == "negative":
        # Every score is below 0, which is what a kernel has beyond the last key that fills its tile.
        query, key = np.abs(query) / 2.0 + 0.5, -np.abs(key) - 1.0
    made = {"query": query, "key": key[:, :, past:], "value": value[:, :, past:]}
    return made if not past else {**made, "past_key": key[:, :, :past], "past_value": value[:, :, :past]}
