"""Rows of quantized keys, and sums of quantized numbers that narrow accumulators do not hold.

Units that multiply numbers of 8 bits add their products up in int16, int32 or float32, or in some 14 bits of float32,
as tensor cores for float8 do. What is too narrow shows in sums that need more bits: of many features, of large numbers,
and of numbers whose sizes differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized.formats import (
    E4M3,
    E5M2,
    INT8,
    KEY_SCALES,
    QUERY_SCALES,
    VALUE_SCALES,
    quantized,
)
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

STEPS = ("output", "weights", "logsumexp")


def other_rows() -> tuple[AuthoredCase, ...]:
    """Return short rows of particular numbers."""
    case = table(quantized, value_scale=VALUE_SCALES, key_scale=KEY_SCALES)
    one = Sizes(1, 2, 2, 3, 5, 2)
    return (
        quantized("peaked", "Scores that lie far apart, in each head otherwise")(
            one, outputs=STEPS, key_scale=(0.37, 1.7), value_scale=VALUE_SCALES
        ),
        quantized("peaked_of_query", "Scores that lie far apart, from a quantized query")(
            one, query=INT8, key=INT8, value=INT8, query_scale=(0.11, 0.31), key_scale=(0.043, 0.029)
        ),
        case(
            "equal_numbers",
            "Values that are all one number, in each head with another scale: the mean is that number times the scale",
        )(one, key=INT8, value=INT8, given={"value": np.full((1, 2, 5, 2), 113.0)}),
        quantized("one_key", "One key: its value times the scale")(Sizes(3, 2, 2, 4, 1, 2), value_scale=VALUE_SCALES),
        case("one_query", "One query over grouped heads, as when a token is generated")(Sizes(3, 6, 2, 1, 5, 2)),
        quantized("width_64", "Heads of 64 features in int8")(
            Sizes(1, 2, 1, 3, 4, 64, 2), key=INT8, value=INT8, key_scale=0.0031
        ),
        quantized("width_131", "131 features of keys in int8, more than one tile holds")(
            Sizes(1, 2, 1, 3, 4, 131, 2), key=INT8, value=INT8, key_scale=0.0031
        ),
        quantized("value_width_131", "131 features of values in int8, more than one tile holds")(
            Sizes(1, 2, 1, 3, 4, 2, 131), key=INT8, value=INT8, value_scale=0.0217
        ),
        case("value_width", "Values of another width than the keys")(Sizes(1, 2, 2, 3, 4, 2, 5)),
        quantized("steps_e4m3", "Scores, logits, weights and logsumexp of float8_e4m3fn")(
            Sizes(1, 2, 1, 3, 4, 3), also="weights logsumexp scores logits"
        ),
        case("steps_int8", "Weights and logsumexp of int8, a scale for each head")(
            Sizes(1, 2, 2, 3, 4, 3), outputs=STEPS, key=INT8, value=INT8
        ),
        quantized("steps_e5m2", "Weights and logsumexp of float8_e5m2")(
            Sizes(1, 2, 1, 3, 4, 3), outputs=STEPS, key=E5M2, value=E5M2
        ),
        quantized("steps_e4m3_per_head", "Weights and logsumexp of float8_e4m3fn, six heads over three")(
            Sizes(1, 6, 3, 2, 4, 2),
            outputs=STEPS,
            key=E4M3,
            value=E4M3,
            key_scale=(0.0123, 0.0415, 0.0067),
            value_scale=(0.37, 0.059, 0.0213),
        ),
    )


PRECISION = "sdpa.quantized.precision"
STABILITY = "sdpa.softmax.stability"
BOTH_OUTPUTS = ("output", "logsumexp")
WIDE = Sizes(1, 2, 2, 3, 4, 16, 2)
ROWS_OF_SIGNS = np.array([1.0, -1.0, 1.0])[:, np.newaxis]


def _of_many_sizes(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw numbers of two significant bits and of sizes from 2^-6 to 2^6, so that their products need many bits."""
    significands = np.where(grid(f"{name}/significands", shape) < 0, -1.0, 1.5)
    return significands * 2.0 ** np.clip(np.round(3.0 * grid(f"{name}/exponents", shape)), -6, 6)


def of_int8() -> tuple[AuthoredCase, ...]:
    """Return products of int8 that add up to more than 16 bits hold, of either sign."""
    eighths = np.arange(64.0).reshape(4, 16) % 5
    near_the_end = {"query": 127.0 * ROWS_OF_SIGNS * np.ones((1, 2, 3, 16)), "key": np.full((1, 2, 4, 16), 127.0)}
    near_the_end["key"] = near_the_end["key"] - eighths
    beyond: dict[str, Any] = {"query": INT8, "key": INT8, "value": INT8, "clauses": (PRECISION,)}
    return (
        quantized(
            "sums_beyond_16_bits", "Products of int8 that add up to a quarter of a million, and differ by little"
        )(WIDE, outputs=BOTH_OUTPUTS, query_scale=0.0275, key_scale=0.0123, given=near_the_end, **beyond),
        quantized("sums_around_32768", "Products of int8 that add up to numbers on both sides of 32767 and of -32768")(
            Sizes(1, 2, 1, 4, 5, 3, 2),
            query_scale=0.0091,
            key_scale=0.0123,
            given={
                "query": np.broadcast_to(
                    [[127.0, 127, 3], [-128, -128, 1], [127, 127, 127], [-128, -127, -126]], (1, 2, 4, 3)
                ),
                "key": np.broadcast_to(
                    [[127.0, 127, 127], [-128, -128, -128], [127, 126, 125], [-128, 127, 1], [127, 127, 2]],
                    (1, 1, 5, 3),
                ),
            },
            **beyond,
        ),
        quantized("width_128_of_query", "128 features of a query and of keys in int8, grouped")(
            Sizes(1, 2, 1, 2, 3, 128, 2), query_scale=0.0091, key_scale=0.0123, **beyond
        ),
    )


def of_float8() -> Iterator[AuthoredCase]:
    """Return products of float8 whose sums need more bits than narrow accumulators have."""
    for name, title, dtype, sizes, scales in (
        ("e4m3_32", "32 features in float8_e4m3fn", E4M3, Sizes(1, 2, 2, 2, 3, 32, 2), (0.37, 0.43)),
        ("e5m2_64", "64 features in float8_e5m2", E5M2, Sizes(1, 2, 1, 2, 3, 64, 2), (0.31, 0.27)),
    ):
        given = {
            tensor: _of_many_sizes(f"quantized/sums_{name}/{tensor}", sizes.shapes()[tensor])
            for tensor in ("query", "key")
        }
        yield quantized(f"sums_{name}", f"Products of numbers of very different size, of {title}")(
            sizes,
            clauses=(PRECISION,),
            outputs=BOTH_OUTPUTS,
            query=dtype,
            key=dtype,
            value=dtype,
            query_scale=scales[0],
            key_scale=scales[1],
            given=given,
        )
    values = _of_many_sizes("quantized/sums_of_values/value", (1, 2, 65, 2))
    yield quantized("sums_of_values", "65 values of very different size, from a query that is quantized")(
        Sizes(1, 2, 2, 1, 65, 2),
        clauses=(PRECISION,),
        query=E4M3,
        query_scale=QUERY_SCALES,
        key_scale=KEY_SCALES,
        value_scale=VALUE_SCALES,
        given={"value": values},
    )


def far_from_zero() -> tuple[AuthoredCase, ...]:
    """Return logits whose exponentials overflow or underflow, in rows of their own."""
    columns = np.array([64.0, 62.0, 60.0, 56.0])[:, np.newaxis]
    ahead = {"query": 64.0 * ROWS_OF_SIGNS * np.ones((1, 2, 3, 2)), "key": columns * np.ones((1, 2, 4, 2))}
    one = Sizes(1, 2, 2, 3, 4, 2)
    far: dict[str, Any] = {"clauses": (STABILITY,), "outputs": BOTH_OUTPUTS, "given": ahead}
    return (
        quantized(
            "far_scores_e4m3",
            "Scores that are all far above zero in one row, and all far below in the next, from float8_e4m3fn",
        )(one, query=E4M3, query_scale=0.43, key_scale=0.51, **far),
        quantized(
            "far_scores_int8", "Scores that are all far above zero in one row, and all far below in the next, from int8"
        )(one, query=INT8, key=INT8, value=INT8, query_scale=(0.43, 0.37), key_scale=(0.51, 0.47), **far),
        quantized(
            "far_scores_of_keys",
            "Scores that are all far above zero in one row, and all far below in the next, from keys in float8_e5m2",
        )(one, key=E5M2, value=E5M2, key_scale=0.29, **far),
    )


def short_of_queries() -> tuple[AuthoredCase, ...]:
    """Return one quantized query over many keys, as when a token is generated, and more queries than a tile has."""
    per_head: dict[str, Any] = {"query_scale": QUERY_SCALES, "key_scale": KEY_SCALES, "value_scale": VALUE_SCALES}
    return (
        quantized(
            "one_query_of_67_keys", "One query in int8 over 67 keys, of which each batch entry has another number"
        )(Sizes(3, 6, 2, 1, 67, 2, 1), query=INT8, key=INT8, value=INT8, key_lengths=[67, 1, 65], **per_head),
        quantized("queries_65", "65 queries in float8_e4m3fn, causal")(
            Sizes(1, 2, 2, 65, 3, 2, 1), query=E4M3, is_causal=True, causal_alignment="bottom_right", **per_head
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Return rows around and beyond the size of a tile.
        quantized("keys_129", "129 keys in int8")(Sizes(1, 2, 1, 3, 129, 1, 2), key=INT8, value=INT8),
        quantized("keys_257", "257 keys in float8_e4m3fn, two heads with scales of their own")(
            Sizes(1, 2, 2, 3, 257, 1), key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        quantized("keys_129_of_query", "129 keys in float8_e5m2, and a quantized query")(
            Sizes(1, 2, 1, 3, 129, 2, 1), query=E5M2, key=E5M2, value=E5M2
        ),
        quantized("keys_64_of_equal_scores", "64 keys of equal scores: every weight is rounded to the same number")(
            Sizes(1, 2, 1, 3, 64, 1, 2), given={"query": np.zeros((1, 2, 3, 1))}
        ),
        *other_rows(),
        *of_int8(),
        *of_float8(),
        *far_from_zero(),
        *short_of_queries(),
    )
