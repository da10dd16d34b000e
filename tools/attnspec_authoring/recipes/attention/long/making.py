"""How a long case is made: generated inputs whose scores rise from tile to tile, and a sample of what they give.

Values have mean 0: were they of one sign, a tile that is dropped would hardly move a mean of thousands. Scores rise
with the place of the key, slowly enough for thousands of keys to count, and fast enough for the largest score of a tile
of 2048 to be larger than those of all tiles before it. They take few different values, so that the oracle can count
keys of equal score.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.cases import Generated, Inputs, Rise
from attnspec.cases.generator import fnv1a64, splitmix64
from attnspec_authoring.recipes.attention.attention import ATTENTION, BOTTOM_RIGHT, made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.attention.attention import Sizes

TILES = (16, 32, 64, 128, 256, 1024, 2048)
"""Sizes of the tiles into which kernels cut queries and keys."""

FEW_TILES = (64, 128, 2048)
"""Those of them that are looked at where there are many heads."""

MANY_HEADS = 4
"""From so many heads on, fewer borders of each are looked at."""

AT_RANDOM = 24
"""Rows of a head that are drawn; with those of the borders, a fault in 4 % of them is found with 95 %."""


class Extents(NamedTuple):
    """The extents of an output: B, Hq, Sq, Ev."""

    batch: int
    heads: int
    queries: int
    features: int


def sample_of(seed: str, extents: Extents, *, features: int, at_random: int = AT_RANDOM) -> dict[str, tuple[int, ...]]:
    """Return output to the flat indices of the elements that are certified."""
    batch, heads, queries, width = extents
    output: list[int] = []
    logsumexp: list[int] = []
    for head in range(batch * heads):
        tiles = TILES if batch * heads < MANY_HEADS else FEW_TILES
        rows = borders(queries, tiles) | _drawn(f"{seed}/rows/{head}", queries, at_random)
        chosen = _features(f"{seed}/features/{head}", width, features)
        for row in sorted(rows):
            start = head * queries + row
            logsumexp.append(start)
            output += (start * width + feature for feature in chosen)
    return {"output": tuple(output), "logsumexp": tuple(logsumexp)}


def borders(queries: int, tiles: tuple[int, ...]) -> set[int]:
    """Return the first and last rows, and those where the first, second, third and last tile of each size meet."""
    rows = {0, 1, queries // 2, queries - 2, queries - 1}
    for tile in tiles:
        last = (queries - 1) // tile * tile
        rows |= {tile - 1, tile, 2 * tile, 2 * tile + tile // 2, 3 * tile - 1, 3 * tile, last - 1, last}
    return {row for row in rows if 0 <= row < queries}


def _drawn(seed: str, below: int, count: int) -> set[int]:
    base = fnv1a64(seed)
    return {splitmix64(base + number) % below for number in range(count)}


def _features(seed: str, width: int, count: int) -> list[int]:
    if count >= width:
        return list(range(width))
    chosen = {0, width - 1}
    number, base = 0, fnv1a64(seed)
    while len(chosen) < count:
        chosen.add(splitmix64(base + number) % width)
        number += 1
    return sorted(chosen)


_LEVELS = 256
"""Steps of a rise: bfloat16 holds the whole numbers up to it."""

_FIRST_OF_QUERY = 2.0
"""The first feature of every query, which meets the rising one of the keys."""


@headed
def long_case(
    name: str,
    title: str,
    sizes: Sizes,
    *,
    clauses: tuple[str, ...] = (),
    rises_by: float = 8.0,
    spread: float = 0.5,
    features: int = 6,
    at_random: int = 24,
    **arguments: Any,
) -> AuthoredCase:
    """Make a case whose scores rise by `rises_by` from first key to last; `spread` is the unit of the keys."""
    case_id = f"long/{name}"
    given: dict[str, NDArray[Any]] = {
        name: np.asarray(array) for name, array in arguments.items() if name in ATTENTION.optional_inputs
    }
    attributes = {name: value for name, value in arguments.items() if name not in given}
    extents = Extents(sizes.batch, sizes.heads, sizes.queries, sizes.value_width or sizes.width)
    return AuthoredCase(
        id=case_id,
        title=title,
        operation=ATTENTION.name,
        clauses=tuple(dict.fromkeys((*clauses, *_clauses(sizes, given, attributes)))),
        source=made_for("long"),
        inputs=Inputs(given, _generated(case_id, sizes, attributes.get("scale"), rises_by, spread)),
        attributes=attributes,
        outputs=("output", "logsumexp"),
        dtypes=EVERY_DTYPE,
        conventions=_conventions(given, attributes),
        whole_shapes={"output": tuple(extents), "logsumexp": tuple(extents[:-1])},
        sample=sample_of(case_id, extents, features=features, at_random=at_random),
    )


def _generated(case_id: str, sizes: Sizes, scale: float | None, rises_by: float, spread: float) -> dict[str, Generated]:
    shapes = sizes.shapes()
    made = {
        "query": Generated("bell", f"{case_id}/query", shapes["query"], 2, 0.25, first=_FIRST_OF_QUERY),
        "value": Generated("bell", f"{case_id}/value", shapes["value"], 4, 1 / 16),
    }
    rise = _rise(sizes.columns, abs(scale) if scale else sizes.width**-0.5, rises_by)
    if sizes.past:
        made["past_key"] = Generated("bell", f"{case_id}/past_key", shapes["past_key"], 2, spread, rise=rise)
        made["past_value"] = Generated("bell", f"{case_id}/past_value", shapes["past_value"], 4, 1 / 16)
        # A rise ends at 0, so that new keys a step above it stand above the whole past.
        made["key"] = Generated("bell", f"{case_id}/key", shapes["key"], 2, spread, first=rise.unit)
    else:
        made["key"] = Generated("bell", f"{case_id}/key", shapes["key"], 2, spread, rise=rise)
    return dict(sorted(made.items()))


def _rise(keys: int, scale: float, rises_by: float) -> Rise:
    tokens = max(1, 2 ** math.ceil(math.log2(keys / _LEVELS)))
    of_step = rises_by / (keys / tokens) / (scale * _FIRST_OF_QUERY)
    return Rise(tokens, 2.0 ** round(math.log2(of_step)))


def _clauses(sizes: Sizes, given: dict[str, NDArray[Any]], attributes: dict[str, Any]) -> tuple[str, ...]:
    """Name the clauses of the features that a case uses."""
    bottom_right = attributes.get("causal_alignment") == BOTTOM_RIGHT
    causal, window = bool(attributes.get("is_causal")), attributes.get("window")
    left, right = window or (None, None)
    positional = causal or window is not None or "alibi_slopes" in given
    moved = bool(sizes.past) or (bottom_right and sizes.queries != sizes.columns)
    used = {
        "scores": True,
        "softmax.keys": True,
        "output": True,
        "logsumexp": True,
        "heads.grouped": sizes.heads != sizes.shared,
        "scale.explicit": "scale" in attributes,
        "softcap.definition": "softcap" in attributes,
        "causal.top_left": causal and not bottom_right,
        "causal.bottom_right": causal and bottom_right,
        "window.left": left is not None,
        "window.right": right is not None,
        "window.open_side": window is not None and None in window,
        "window.position": window is not None and moved,
        "past.concatenation": bool(sizes.past),
        "past.position": bool(sizes.past) and positional,
        "key_lengths.exclusion": "key_lengths" in given,
        "key_lengths.alignment": "key_lengths" in given and positional and bottom_right,
        "query_lengths.rows": "query_lengths" in given,
        "query_lengths.alignment": "query_lengths" in given and positional and bottom_right,
        "alibi.distance": "alibi_slopes" in given,
        "alibi.heads": "alibi_slopes" in given,
        "alibi.position": "alibi_slopes" in given and moved,
        "sinks.denominator": "sinks" in given,
        "sinks.logsumexp": "sinks" in given,
    }
    return tuple(f"sdpa.{name}" for name, uses in used.items() if uses)


def _conventions(given: dict[str, NDArray[Any]], attributes: dict[str, Any]) -> tuple[str, ...]:
    """Name the conventions on which the golden values depend; no case has a query without keys."""
    depends = {
        "alibi_bias": "alibi_slopes" in given,
        "causal_alignment": "causal_alignment" in attributes,
        "logsumexp_base": True,
    }
    return tuple(name for name, holds in depends.items() if holds)
