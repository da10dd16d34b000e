"""The classes of numbers that a table of cases draws from, and how long the axes of a row are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
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
    """Return whether the numbers are exact in every dtype in which they are offered."""
    return numbers not in _FULL


def drawing(numbers: str) -> Callable[[str, tuple[int, ...]], NDArray[np.float64]]:
    """Return what draws the ordinary numbers of a class, from a name and a shape."""
    return decimals if numbers in _FULL else fine_grid if numbers in ("float16", "cancelling") else grid


def attention_numbers(
    numbers: str, name: str, shapes: Mapping[str, tuple[int, ...]], *, past: int
) -> dict[str, NDArray[Any]]:
    """Draw queries, keys and values of a class; past ones are the first ones of a longer draw."""
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
        spots: NDArray[np.int64] = np.arange(keys, dtype=np.int64)
        second: NDArray[np.bool_] = (spots > 0) & (spots % 2 == 0)
        of_first: NDArray[np.int64] = spots - second
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


HEADS: Mapping[str, tuple[int, int]] = {
    "2": (2, 2),
    "1": (1, 1),
    "3": (3, 3),
    "4_over_1": (4, 1),
    "6_over_2": (6, 2),
    "9": (9, 9),
    "17_over_1": (17, 1),
    "65_over_5": (65, 5),
}
"""Level to the heads of queries, and those of keys and values."""

QUERIES = ("4", "1", "as_keys", "17", "64", "65", "129")
KEYS = ("5", "1", "16", "17", "64", "65", "128", "129", "256", "257", "300")
WIDTHS = ("3", "1", "8", "32", "64", "80", "96", "128")
PAST: Mapping[str, int] = {"past_3": 3, "past_64": 64, "past_257": 257}

LARGE: Mapping[str, tuple[str, ...]] = {
    "heads": ("9", "17_over_1", "65_over_5"),
    "queries": ("17", "64", "65", "129"),
    "keys": ("16", "17", "64", "65", "128", "129", "256", "257", "300"),
    "width": ("32", "64", "80", "96", "128"),
    "value_width": ("64",),
    "cache": ("past_64", "past_257"),
}
"""Extents that a kernel treats as such. A row has one of them at most, so that its file stays small."""

_STORED = 150
_STEPS = (1, 7, 11, 13, 17)
MOST_BYTES = 11_000
"""Of a case's file, about."""
MOST_MASKED = 1_600
"""Elements of a mask: beyond, it is one row for all queries."""


def large_extents(levels: Mapping[str, str]) -> int:
    """Count the large extents of a row, or of a part of one."""
    return sum(levels.get(name) in large for name, large in LARGE.items())


def sizes_of(levels: Mapping[str, str]) -> Sizes:
    """Return the sizes of a row; of a part of one, with the smallest levels instead of those that are open."""
    batch = levels.get("batch", "several" if _needs_entries(levels) else "1")
    heads, shared = HEADS[levels.get("heads", "2" if batch == "as_heads" else "1")]
    keys = int(levels.get("keys", "1"))
    width = int(levels.get("width", "1"))
    queries = levels.get("queries", "1")
    others = {"narrow": 1, "wider": width + 2, "64": 64}
    return Sizes(
        batch={"1": 1, "several": 3 if heads == 2 or levels.get("cache") == "empty_entry" else 2, "as_heads": heads}[
            batch
        ],
        heads=heads,
        shared=shared,
        queries=keys if queries == "as_keys" else int(queries),
        keys=keys,
        width=width,
        value_width=others.get(levels.get("value_width", "equal")),
        past=PAST.get(levels.get("cache", "none"), 0),
    )


def _needs_entries(levels: Mapping[str, str]) -> bool:
    """Return whether a row needs several batch entries: one stands for all, or one has no keys."""
    layouts = [levels.get(f"{name}_layout") for name in ("query", "key", "value")]
    return "broadcast" in layouts or levels.get("cache") == "empty_entry"


def mask_shape(levels: Mapping[str, str], sizes: Sizes) -> tuple[int, ...]:
    """Return the shape of the mask of a row: with a row for each query, and for each head, unless it is too long."""
    rows = sizes.queries if sizes.queries * sizes.columns <= MOST_MASKED else 1
    heads = sizes.heads if sizes.heads * rows * sizes.columns <= MOST_MASKED else 1
    entries = sizes.batch if sizes.batch * rows * sizes.columns <= MOST_MASKED else 1
    of_rank = {"3": (heads, rows, sizes.columns), "4": (entries, 1, rows, sizes.columns)}
    return of_rank.get(levels.get("mask_rank", "2"), (rows, sizes.columns))


def sample_of(output: str, elements: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return the sample of a long output, its last axis `width` long; of a short one none, because all is stored."""
    sample = sampled(elements, width)
    return {output: sample} if sample else {}


def sampled(elements: int, width: int) -> tuple[int, ...]:
    """Return the elements of a long output that are stored: every so many of them and the last row; empty for all.

    The steps share no factor with a width, so that every feature and every row has its turn.
    """
    step = next((step for step in _STEPS if elements <= _STORED * step), _STEPS[-1])
    if step == 1:
        return ()
    return tuple(sorted({*range(0, elements, step), *range(elements - width, elements)}))


def estimated_bytes(levels: Mapping[str, str]) -> int:
    """Return about how many bytes the tensors of a row take, or those of a part of one at least."""
    sizes = sizes_of(levels)
    values = sizes.width if sizes.value_width is None else sizes.value_width
    queries, keys = sizes.batch * sizes.heads * sizes.queries, sizes.batch * sizes.shared * sizes.columns
    goldens = 2 if levels.get("numbers") in ("full", "large", "tiny") else 1
    stored = queries * values
    results = (len(sampled(stored, values)) or stored) + queries * (levels.get("outputs") == "logsumexp")
    if levels.get("outputs") == "weights":
        results += queries * sizes.columns
    mask = math.prod(mask_shape(levels, sizes)) if levels.get("mask", "none") != "none" else 0
    numbers = queries * sizes.width + keys * (sizes.width + values)
    # A number of an input takes 8 bytes, one of an output 20, and each innermost list some 9 more.
    return 8 * (numbers + mask) + 20 * goldens * results + 9 * (queries * (1 + goldens) + 2 * keys)
