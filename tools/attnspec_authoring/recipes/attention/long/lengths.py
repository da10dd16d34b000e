"""Long cases, from 1,000 to 131,072 keys: generated inputs whose scores rise, and a sample of what they give.

Values have mean 0: were they of one sign, a tile that is dropped would hardly move a mean of thousands. Scores rise
with the index of the key, slowly enough for thousands of keys to count, and fast enough for the largest score of a tile
of 2048 to be larger than those of all tiles before it. They take few different values, so that the oracle can count
keys of equal score.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.cases import Inputs
from attnspec.cases.generator import Generated, Rise, fnv1a64, splitmix64
from attnspec_authoring.recipes.attention.attention import ATTENTION, BOTTOM_RIGHT, TOP_LEFT, Sizes, made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


SLOPES = [2.0**-11, 2.0**-10]
"""So flat that keys thousands of positions away still count."""


def thousands() -> tuple[AuthoredCase, ...]:
    """Return the cases that every implementation can be called for."""
    return (*_causal(), *_of_other_extents(), *_windows(), *_biased(), *_served())


def _causal() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/causal_1000", "1,000 tokens, causal: no multiple of any tile")(
            Sizes(1, 2, 1, 1000, 1000, 32), rises_by=4.0, is_causal=True
        ),
        long_case("thousands/causal_2048", "2,048 tokens, causal: a multiple of every tile")(
            Sizes(1, 2, 2, 2048, 2048, 64), is_causal=True
        ),
        long_case("thousands/causal_4096_width_128", "4,096 tokens of 128 features, causal")(
            Sizes(1, 1, 1, 4096, 4096, 128), features=8, is_causal=True
        ),
        long_case("thousands/causal_7177", "7,177 tokens, causal: nine more than a multiple of 128 and of 1,024")(
            Sizes(1, 1, 1, 7177, 7177, 40), features=8, is_causal=True
        ),
        long_case("thousands/causal_8192", "8,192 tokens, causal, two heads over one")(
            Sizes(1, 2, 1, 8192, 8192, 64), rises_by=12.0, is_causal=True
        ),
        long_case("thousands/causal_steep_6200", "6,200 tokens, causal, scores that rise by thirty")(
            Sizes(1, 1, 1, 6200, 6200, 16), rises_by=30.0, features=8, is_causal=True
        ),
    )


def _of_other_extents() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/every_key_6200", "900 queries that may attend to all of 6,200 keys")(
            Sizes(1, 2, 2, 900, 6200, 64, 48)
        ),
        long_case("thousands/bottom_right_5001", "1,500 queries at the last of 5,001 keys, causal")(
            Sizes(1, 2, 1, 1500, 5001, 32), is_causal=True, causal_alignment=BOTTOM_RIGHT
        ),
        long_case("thousands/top_left_4100", "2,500 queries at the first of 4,100 keys, causal")(
            Sizes(1, 1, 1, 2500, 4100, 64), features=8, is_causal=True, causal_alignment=TOP_LEFT
        ),
        long_case("thousands/grouped_3100", "3,100 tokens, causal, eight heads over two")(
            Sizes(1, 8, 2, 3100, 3100, 16), features=3, at_random=10, is_causal=True
        ),
    )


def _windows() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/window_256_of_8192", "8,192 tokens, each of which attends to the 256 up to itself")(
            Sizes(1, 1, 1, 8192, 8192, 64), features=8, is_causal=True, window=[255, 0]
        ),
        long_case(
            "thousands/window_of_both_sides_5000", "5,000 tokens, each of which attends to 700 before it and 300 behind"
        )(Sizes(1, 2, 1, 5000, 5000, 32), window=[700, 300]),
        long_case(
            "thousands/window_4096_of_9000",
            "2,100 queries at the last of 9,000 keys, each of which attends to the 4,096 up to itself",
        )(Sizes(1, 1, 1, 2100, 9000, 64), features=8, is_causal=True, causal_alignment=BOTTOM_RIGHT, window=[4095, 0]),
    )


def _biased() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/sinks_window_4200", "4,200 tokens, a window of 128, sinks")(
            Sizes(1, 2, 1, 4200, 4200, 64), is_causal=True, window=[127, 0], sinks=[1.5, -0.5]
        ),
        long_case("thousands/alibi_4200", "4,200 tokens, causal, biased by distances that float16 does not hold")(
            Sizes(1, 2, 2, 4200, 4200, 32), rises_by=0.5, is_causal=True, alibi_slopes=SLOPES
        ),
        long_case(
            "thousands/alibi_both_sides_9001",
            "700 queries in the middle of 9,001 keys, biased by distance to either side",
        )(Sizes(1, 2, 1, 700, 9001, 32), rises_by=0.5, alibi_slopes=SLOPES, causal_alignment=BOTTOM_RIGHT),
        long_case("thousands/softcap_3000", "3,000 tokens, causal, a softcap of 4")(
            Sizes(1, 1, 1, 3000, 3000, 64), features=8, spread=1.0, is_causal=True, softcap=4.0
        ),
        long_case("thousands/scale_5000", "5,000 tokens, causal, a scale of 0.3")(
            Sizes(1, 1, 1, 5000, 5000, 24), features=8, is_causal=True, scale=0.3
        ),
    )


def _served() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/decode_16384", "One query of eight heads over two, and 16,384 keys")(
            Sizes(1, 8, 2, 1, 16384, 64), features=24
        ),
        long_case("thousands/decode_four_9000", "Four queries at the last of 9,000 keys, causal")(
            Sizes(2, 4, 1, 4, 9000, 64), features=16, is_causal=True, causal_alignment=BOTTOM_RIGHT
        ),
        long_case("thousands/past_5000", "1,030 new tokens after a past of 3,970, causal")(
            Sizes(1, 2, 1, 1030, 1030, 64, past=3970), is_causal=True
        ),
        long_case("thousands/lengths_5000", "Three entries of 600 queries: 5,000, 4,097 and 1,023 keys count, causal")(
            Sizes(3, 1, 1, 600, 5000, 32),
            features=8,
            at_random=12,
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
            key_lengths=[5000, 4097, 1023],
            query_lengths=[600, 513, 600],
        ),
    )


def beyond() -> tuple[AuthoredCase, ...]:
    """Return the cases that take their time, or their memory; the first one takes a processor minutes."""
    return (
        long_case("beyond/causal_131072", "131,072 tokens, causal")(
            Sizes(1, 1, 1, 131072, 131072, 64), rises_by=16.0, spread=0.25, features=8, at_random=16, is_causal=True
        ),
        long_case("beyond/decode_131072", "One query of four heads over one, and 131,072 keys of 128 features")(
            Sizes(1, 4, 1, 1, 131072, 128), features=12
        ),
        long_case(
            "beyond/lengths_decode_40000",
            "Two entries of one query: 40,000 and 32,769 keys count, more than 16 bits with a sign hold",
        )(Sizes(2, 2, 1, 1, 40000, 64), features=24, key_lengths=[40000, 32769]),
        long_case(
            "beyond/window_70000",
            "300 queries at the last of 70,000 keys, causal, each of which attends to the 1,024 up to itself",
        )(Sizes(1, 1, 1, 300, 70000, 64), features=8, is_causal=True, causal_alignment=BOTTOM_RIGHT, window=[1023, 0]),
        long_case(
            "beyond/bottom_right_66000",
            "1,200 queries from the 64,800th of 66,000 keys on, causal: positions on both sides of 65,536",
        )(Sizes(1, 1, 1, 1200, 66000, 32), rises_by=12.0, features=8, is_causal=True, causal_alignment=BOTTOM_RIGHT),
    )
