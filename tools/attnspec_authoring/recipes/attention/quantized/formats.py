"""Making a case of quantized tensors, and what numbers of each format count.

Scales are unequal, differ from head to head and from batch entry to batch entry, and are no power of two unless a case
is about one: with scales of 1, most of what can go wrong with them does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec.contract.dtypes import RUN_DTYPE, numpy_dtype
from attnspec_authoring.recipes.attention.attention import Sizes, attention
from attnspec_authoring.recipes.authoring import headed, row, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

SMALL = Sizes(3, 2, 2, 1, 4, 3)
E4M3, E5M2, INT8 = "float8_e4m3fn", "float8_e5m2", "int8"
FORMATS: Mapping[str, str] = {"e4m3": E4M3, "e5m2": E5M2, "int8": INT8}
"""The formats, by the names that they have in ids of cases."""

KEY_SCALE, VALUE_SCALE, QUERY_SCALE = 0.0123, 0.37, 0.0275
KEY_SCALES, VALUE_SCALES, QUERY_SCALES = (0.0123, 0.0415), (0.37, 0.059), (0.0275, 0.0091)
KEY_SCALES_OF_BATCH = ((0.0123, 0.0415), (0.031, 0.0067))
VALUE_SCALES_OF_BATCH = ((0.37, 0.059), (0.0213, 3.1))
QUERY_SCALES_OF_BATCH = ((0.0275, 0.0091), (0.013, 0.046))
KEY_SCALES_OF_THREE = (*KEY_SCALES_OF_BATCH, (0.0181, 0.0532))
VALUE_SCALES_OF_THREE = (*VALUE_SCALES_OF_BATCH, (0.137, 1.9))
QUERY_SCALES_OF_THREE = (*QUERY_SCALES_OF_BATCH, (0.0337, 0.0191))


def as_scale(scale: Any) -> NDArray[np.float32]:
    """Return a scale as it is handed over, in float32."""
    return np.asarray(scale, dtype=np.float32)


def as_numbers(numbers: Any, dtype: str) -> NDArray[Any]:
    """Return numbers in a format, rounded to it."""
    return np.asarray(numbers, dtype=np.float64).astype(numpy_dtype(dtype))


def stored(name: str, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Draw whole numbers from -126 to 126 that depend on a name alone, in a format: rounded to its significant bits."""
    return as_numbers(32.0 * grid(name, shape), dtype)


@headed
def quantized(
    name: str,
    title: str,
    sizes: Sizes,
    *,
    key: str | None = E4M3,
    value: str | None = E4M3,
    query: str | None = None,
    key_scale: Any = KEY_SCALE,
    value_scale: Any = VALUE_SCALE,
    query_scale: Any = QUERY_SCALE,
    given: Mapping[str, Any] | None = None,
    profile: str = "quantized",
    **others: Any,
) -> AuthoredCase:
    """Make a case of quantized tensors: one of no format has no scale; numbers that are `given` are not drawn."""
    case_id = f"{profile}/{name}"
    stated = given or {}
    formats = {"query": query, "key": key, "value": value}
    scales = {"query": query_scale, "key": key_scale, "value": value_scale}
    arguments: dict[str, Any] = {}
    for tensor, shape in sizes.shapes().items():
        kind = tensor.removeprefix("past_")
        dtype = formats[kind]
        if dtype is not None:
            drawn = stored(f"{case_id}/{tensor}", shape, dtype)
            arguments[tensor] = as_numbers(stated[tensor], dtype) if tensor in stated else drawn
            arguments[f"{kind}_scale"] = as_scale(scales[kind])
        elif tensor in stated:
            arguments[tensor] = np.asarray(stated[tensor], dtype=np.float64)
    if query is not None:
        arguments["output_dtype"] = RUN_DTYPE
    return attention(case_id, title)(sizes, **arguments, **others)


BORDERS = Sizes(1, 2, 2, 3, 6, 2)
NUMBERS = "sdpa.quantized.numbers"
PRECISION = "sdpa.quantized.precision"


def borders() -> Iterator[AuthoredCase]:
    """Return numbers at the ends of each format, as keys and as values."""
    for short, dtype, numbers, key_scale, value_scale in (
        ("e4m3", E4M3, (448.0, -240.0, 256.0, 2.0**-6, -288.0, 15.0), 0.0031, 0.37),
        ("e5m2", E5M2, (57344.0, -49152.0, 512.0, 2.0**-14, -448.0, 7.0), 2.3e-5, 0.00037),
        ("int8", INT8, (-128.0, 127.0, -1.0, 64.0, 0.0, -127.0), 0.0123, 3.1),
    ):
        column = np.asarray(numbers)[:, np.newaxis]
        yield from (
            quantized(f"borders_{short}_of_keys", f"Keys at the ends of {dtype}")(
                BORDERS,
                clauses=(NUMBERS,),
                also="scores",
                key=dtype,
                value=dtype,
                key_scale=key_scale,
                given={"key": np.broadcast_to(column, (1, 2, 6, 2)) * [1.0, 0.5 if dtype != INT8 else 1.0]},
            ),
            quantized(f"borders_{short}_of_values", f"Values at the ends of {dtype}")(
                BORDERS,
                clauses=(NUMBERS,),
                key=dtype,
                value=dtype,
                value_scale=value_scale,
                given={"value": np.broadcast_to(np.concatenate([column, column[::-1]], axis=-1), (1, 2, 6, 2))},
            ),
        )


def _least(name: str, unit: float) -> NDArray[np.float64]:
    """Return numbers of one to three units, of either sign, with a few zeros."""
    return np.clip(np.round(2.0 * grid(name, (1, 2, 6, 2))), -3, 3) * unit


def larger_than_half_precision() -> tuple[AuthoredCase, ...]:
    """Return products that float16 cannot hold, in sums that it can."""
    case = table(quantized, clauses=(PRECISION,))
    sizes = Sizes(1, 2, 2, 3, 4, 2)
    value = np.array([[57344.0, -8.0], [1.0, 40960.0], [-2.0, 3.0], [0.5, -1.0]])
    key = np.array([[57344.0, 1.0], [-49152.0, 0.0], [0.0, 4.0], [8192.0, -1.0]])
    return (
        case("large_values", "Values that times their scale are larger than float16 holds, in a mean that it holds")(
            sizes,
            key=E5M2,
            value=E5M2,
            value_scale=3.1,
            given={"query": np.zeros((1, 2, 3, 2)), "value": np.broadcast_to(value, (1, 2, 4, 2))},
        ),
        case("large_keys", "Keys that times their scale are larger than float16 holds, beside small queries")(
            sizes,
            key=E5M2,
            value=E5M2,
            key_scale=3.1,
            also="logsumexp",
            given={
                "query": np.broadcast_to([[2.0**-17, 0.5], [-(2.0**-18), 0.25], [2.0**-16, -1.0]], (1, 2, 3, 2)),
                "key": np.broadcast_to(key, (1, 2, 4, 2)),
            },
        ),
        case("tiny_scales", "Scales below the least normal number of float16")(
            SMALL, key_scale=3.1e-6, value_scale=1.7e-5, scale=4096.0
        ),
        case("large_numbers_small_scales", "Numbers whose products overflow float16 before the scales make them small")(
            Sizes(1, 2, 2, 3, 4, 8),
            query=E4M3,
            query_scale=0.0021,
            key_scale=0.0043,
            given={
                "query": np.full((1, 2, 3, 8), 448.0) * np.array([1.0, -1.0, 0.5])[:, np.newaxis],
                "key": np.array([448.0, 416.0, 320.0, -384.0])[:, np.newaxis] * np.ones((1, 2, 4, 8)),
            },
        ),
    )


def powers_of_two() -> tuple[AuthoredCase, ...]:
    """Return scales that are powers of two, negative, and 1."""
    return (
        quantized("powers_of_two", "Scales that are powers of two")(
            SMALL, key_scale=(2.0**-7, 2.0**-5), value_scale=(4.0, 2.0**-6)
        ),
        quantized(
            "scale_of_one_beside_others", "Keys with the scale 1 in one head, and values with the scale 1 in the other"
        )(SMALL, key_scale=(2.0**-6, 1.0), value_scale=(1.0, 0.37), scale=0.03125),
        quantized("unlike_sizes", "A tiny scale of keys and a large one of values")(
            SMALL, key_scale=0.0011, value_scale=31.0
        ),
    )


def formats_beside_each_other() -> tuple[AuthoredCase, ...]:
    """Return keys and values of unlike formats."""
    unlike: tuple[tuple[str, str, str | None, str | None], ...] = (
        ("keys_e4m3_values_e5m2", "Keys in float8_e4m3fn, values in float8_e5m2", E4M3, E5M2),
        ("keys_int8_values_e4m3", "Keys in int8, values in float8_e4m3fn", INT8, E4M3),
        ("keys_alone", "Keys in int8, values in the dtype of the run", INT8, None),
        ("values_alone", "Values in float8_e5m2, keys in the dtype of the run", None, E5M2),
    )
    return tuple(
        quantized(name, title)(SMALL, key=key, value=value, key_scale=KEY_SCALES, value_scale=VALUE_SCALES)
        for name, title, key, value in unlike
    )


PER_HEAD: dict[str, Any] = {"key_scale": KEY_SCALES, "value_scale": VALUE_SCALES}
OF_BATCH: dict[str, Any] = {"key_scale": KEY_SCALES_OF_THREE, "value_scale": VALUE_SCALES_OF_THREE}


def in_memory() -> tuple[AuthoredCase, ...]:
    """Return tensors and scales in other memory layouts."""
    layouts = (
        row("heads_last", "Tokens before heads in memory")(
            PER_HEAD, dict.fromkeys(("query", "key", "value"), "heads_last")
        ),
        row("gapped", "Gaps between numbers, and between scales")(
            OF_BATCH, dict.fromkeys(("key", "value_scale"), "gapped")
        ),
        row("reversed", "Numbers and scales that run backwards")(
            PER_HEAD, dict.fromkeys(("value", "key_scale"), "reversed")
        ),
        row("fortran", "Columns first")(
            OF_BATCH, dict.fromkeys(("key", "value", "key_scale", "value_scale"), "fortran")
        ),
        row("readonly", "Numbers and scales that cannot be written to")(
            PER_HEAD, dict.fromkeys(("key", "value", "key_scale", "value_scale"), "readonly")
        ),
    )
    made = [
        quantized(f"memory_{name}", title)(SMALL, memory_order=memory_order, **scales)
        for name, title, scales, memory_order in layouts
    ]
    sizes = Sizes(1, 2, 2, 3, 4, 2)
    shared = stored("quantized/memory_shared/key", sizes.shapes()["key"], INT8)
    made.append(
        quantized("memory_shared", "Keys and values are one array, each with scales of its own")(
            sizes,
            key=INT8,
            value=INT8,
            given={"key": shared, "value": shared},
            memory_order={"key": "shared", "value": "shared"},
            **PER_HEAD,
        )
    )
    made.append(
        quantized("memory_shared_scale", "Keys and values have one array of scales")(
            sizes,
            key=INT8,
            value=INT8,
            key_scale=(0.0415, 0.0123),
            value_scale=(0.0415, 0.0123),
            memory_order={"key_scale": "shared", "value_scale": "shared"},
        )
    )
    return tuple(made)


def changed_arguments() -> tuple[AuthoredCase, ...]:
    """Return cases that are followed by a call with other scales, or other numbers."""
    case = table(quantized, sizes=SMALL)
    return (
        case("other_key_scales", "Scales of keys, then others")(changed_argument=_reversed("key_scale"), **PER_HEAD),
        case("other_value_scales", "Scales of values, then others")(
            key=INT8, value=INT8, changed_argument=_reversed("value_scale"), **OF_BATCH
        ),
        case("other_query_scales", "Scales of queries, then others")(
            query=INT8,
            key=INT8,
            value=INT8,
            query_scale=QUERY_SCALES,
            changed_argument=_reversed("query_scale"),
            **PER_HEAD,
        ),
        case("other_keys", "Keys, then others under the same scales")(changed_argument=_reversed("key"), **PER_HEAD),
        quantized("other_values", "Values, then others under the same scales")(
            Sizes(1, 2, 2, 3, 4, 2),
            given={"value": np.arange(16.0).reshape(1, 2, 4, 2) * 8.0},
            changed_argument=_reversed("value"),
        ),
    )


def _reversed(name: str) -> ChangedArgument:
    return ChangedArgument(name, reversed=True)


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *borders(),
        # Return tensors of the least numbers alone, which large scales raise.
        *(
            quantized(f"subnormal_{short}", f"Keys and values of the least numbers of {dtype}, with large scales")(
                BORDERS,
                clauses=(NUMBERS,),
                key=dtype,
                value=dtype,
                key_scale=key_scale,
                value_scale=value_scale,
                given={name: _least(f"quantized/subnormal_{short}/{name}", unit) for name in ("key", "value")},
            )
            for short, dtype, unit, key_scale, value_scale in (
                ("e4m3", E4M3, 2.0**-9, 310.0, 37.0),
                ("e5m2", E5M2, 2.0**-16, 31_000.0, 3700.0),
            )
        ),
        *larger_than_half_precision(),
        *powers_of_two(),
        *formats_beside_each_other(),
        *in_memory(),
        *changed_arguments(),
    )
