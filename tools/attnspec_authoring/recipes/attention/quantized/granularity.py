"""Scales of a tensor, of each head, of each batch entry or both, also where lengths are equal; scales of 0.

A shape says whose a scale is by its axes from the right alone. Where lengths are equal, every other reading fits, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, Sizes
from attnspec_authoring.recipes.attention.quantized.formats import (
    E4M3,
    E5M2,
    FORMATS,
    INT8,
    KEY_SCALE,
    KEY_SCALES,
    KEY_SCALES_OF_BATCH,
    KEY_SCALES_OF_THREE,
    QUERY_SCALE,
    QUERY_SCALES,
    QUERY_SCALES_OF_BATCH,
    QUERY_SCALES_OF_THREE,
    SMALL,
    VALUE_SCALE,
    VALUE_SCALES,
    VALUE_SCALES_OF_BATCH,
    VALUE_SCALES_OF_THREE,
    quantized,
)
from attnspec_authoring.recipes.authoring import row, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_authoring.recipes.authoring import AuthoredCase

GROUPED = Sizes(2, 6, 2, 1, 4, 2)
FLASH = "flashinfer-ai/flashinfer/issues/4979"

_GRANULARITIES = (
    row("per_tensor", "one scale for a tensor")(KEY_SCALE, VALUE_SCALE, QUERY_SCALE),
    row("per_head", "a scale for each head")(KEY_SCALES, VALUE_SCALES, QUERY_SCALES),
    row("per_batch_entry", "a scale for each head of each batch entry")(
        KEY_SCALES_OF_THREE, VALUE_SCALES_OF_THREE, QUERY_SCALES_OF_THREE
    ),
)


def queries() -> tuple[AuthoredCase, ...]:
    """Return queries with scales of their own."""
    case = table(quantized, sizes=SMALL)
    return (
        *(
            case(f"query_{name}", f"Query, keys and values in float8_e4m3fn, {what}")(
                report="vllm-project/vllm/pull/42080" if name == "per_tensor" else None,
                query=E4M3,
                key_scale=key_scale,
                value_scale=value_scale,
                query_scale=query_scale,
            )
            for name, what, key_scale, value_scale, query_scale in _GRANULARITIES
        ),
        case("query_e5m2", "Query, keys and values in float8_e5m2")(query=E5M2, key=E5M2, value=E5M2),
        case("query_int8", "Query, keys and values in int8, a scale for each head")(
            query=INT8, key=INT8, value=INT8, query_scale=QUERY_SCALES, key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        case("query_and_keys_alone", "Query and keys in int8, values in the dtype of the run")(
            query=INT8, key=INT8, value=None, query_scale=QUERY_SCALES, key_scale=KEY_SCALES
        ),
        quantized("query_grouped", "Six query heads take the query scales of the two key heads that they read")(
            GROUPED,
            query=E4M3,
            query_scale=QUERY_SCALES_OF_BATCH,
            key_scale=KEY_SCALES_OF_BATCH,
            value_scale=VALUE_SCALES_OF_BATCH,
        ),
        quantized("query_steps", "A quantized query, with scores, weights and logsumexp")(
            Sizes(1, 2, 1, 3, 4, 3), also="weights logsumexp scores logits", query=E4M3, key=E4M3
        ),
    )


def heads() -> tuple[AuthoredCase, ...]:
    """Return scales beside grouped heads, and scales whose axes could be taken for others."""
    case = table(quantized, value=INT8)
    return (
        quantized("grouped_per_head", "Six query heads over two key heads, each with its scales")(
            GROUPED, key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        case("grouped_per_batch_entry", "Six query heads over two key heads in int8, with scales for each batch entry")(
            GROUPED, key=INT8, key_scale=KEY_SCALES_OF_BATCH, value_scale=VALUE_SCALES_OF_BATCH
        ),
        case(
            "grouped_three_heads",
            "Six query heads over three key heads, in three batch entries: a scale for each head, not for each entry",
        )(Sizes(3, 6, 3, 2, 4, 2), key=E5M2, key_scale=(0.0123, 0.0415, 0.0067), value_scale=(0.37, 0.059, 0.0213)),
        quantized(
            "as_many_heads_as_entries",
            "Three heads in three batch entries: a list of three scales belongs to the heads",
        )(
            Sizes(3, 3, 3, 2, 4, 2),
            key=INT8,
            value=E4M3,
            key_scale=(0.0123, 0.0415, 0.0067),
            value_scale=(0.37, 0.059, 3.1),
        ),
        quantized("multi_query", "Four query heads over one key head, a scale for each batch entry")(
            Sizes(2, 4, 1, 3, 5, 2), key_scale=((0.0123,), (0.0415,)), value_scale=((0.37,), (0.059,))
        ),
        case("entries_alone", "A scale for each batch entry, which all heads share")(
            SMALL, key=INT8, key_scale=((0.0123,), (0.0415,), (0.0067,)), value_scale=((0.059,), (0.37,), (0.0213,))
        ),
        quantized("one_number_in_a_list", "One scale for a tensor, as a list of one")(
            SMALL, key=E5M2, value=E5M2, key_scale=(KEY_SCALE,), value_scale=((VALUE_SCALE,),)
        ),
        quantized(
            "unlike_granularity", "One scale for all keys, and one for the values of each head of each batch entry"
        )(SMALL, value_scale=VALUE_SCALES_OF_THREE),
        case("unlike_granularity_of_keys", "A scale for the keys of each head, and one for all values")(
            SMALL, key=INT8, key_scale=KEY_SCALES
        ),
    )


TENSORS = ("query", "key", "value")
SQUARE, WIDER, ROW = Sizes(2, 4, 2, 2, 3, 2), Sizes(4, 4, 2, 1, 3, 2), Sizes(1, 4, 2, 2, 3, 2)
OF_TWO: dict[str, tuple[float, ...]] = {"query": (0.0275, 0.0091), "key": (0.0123, 0.0415), "value": (0.37, 0.059)}
OF_THREE: dict[str, tuple[float, ...]] = {name: (*of_two, of_two[0] / 2.5) for name, of_two in OF_TWO.items()}
OF_FOUR: dict[str, tuple[float, ...]] = {name: (*of, of[1] * 3.5) for name, of in OF_THREE.items()}
OF_UNLIKE_FORMATS: dict[str, Any] = {"query": INT8, "key": E4M3, "value": E5M2}
ALL: dict[str, Any] = {"query": INT8, "key": INT8, "value": INT8}


def as_column(scales: tuple[float, ...]) -> tuple[tuple[float], ...]:
    """Return scales of batch entries, (B, 1)."""
    return tuple((scale,) for scale in scales)


def scales(of_each: Callable[[str], Any], tensors: tuple[str, ...] = TENSORS) -> dict[str, Any]:
    """Return the scales of some tensors by their names, each as it is for its tensor."""
    return {f"{tensor}_scale": of_each(tensor) for tensor in tensors}


def of_entries() -> tuple[AuthoredCase, ...]:
    """Return scales of batch entries, each alone and all, where heads are as many."""
    three = Sizes(3, 3, 3, 1, 3, 2)
    made = [
        quantized(
            f"{tensor}_scale_of_{name}",
            f"A scale of the {tensor} for each batch entry, of which there are as many as {words}",
        )(
            sizes,
            also="logsumexp",
            **OF_UNLIKE_FORMATS,
            **scales(lambda name, of=of_each: as_column(of[name]), (tensor,)),
        )
        for tensor in TENSORS
        for name, words, sizes, of_each in (
            ("as_many_entries", "key heads", SQUARE, OF_TWO),
            ("entries_like_query_heads", "query heads", WIDER, OF_FOUR),
        )
    ]
    made.append(
        quantized("scales_of_three_entries", "Scales of three batch entries, each with three heads")(
            three, **ALL, **scales(lambda tensor: as_column(OF_THREE[tensor]))
        )
    )
    made.append(
        quantized(
            "scales_of_two_entries_lengths",
            "Scales of two batch entries, each with two key heads and its own lengths, causal",
        )(
            Sizes(2, 4, 2, 3, 4, 2),
            **OF_UNLIKE_FORMATS,
            **scales(lambda tensor: as_column(OF_TWO[tensor])),
            key_lengths=[4, 2],
            query_lengths=[2, 3],
            **BOTTOM_CAUSAL,
        )
    )
    return tuple(made)


def of_heads() -> tuple[AuthoredCase, ...]:
    """Return scales of heads in a row of their own, (1, Hkv), where batch entries are as many, and where one is."""
    given: tuple[tuple[str, str, Sizes, dict[str, Any]], ...] = (
        ("heads_in_a_row", "Scales (1, 2) of two heads, in two batch entries", SQUARE, {}),
        ("heads_in_a_row_of_one_entry", "Scales (1, 2) of two heads, in one batch entry", ROW, {}),
    )
    return (
        *(
            quantized(name, title)(sizes, **ALL, **scales(lambda tensor: (OF_TWO[tensor],)), **others)
            for name, title, sizes, others in given
        ),
        quantized("list_of_heads_of_every_scale", "Lists of two scales for two heads, in two batch entries")(
            SQUARE, **OF_UNLIKE_FORMATS, **scales(lambda tensor: OF_TWO[tensor])
        ),
        quantized(
            "unlike_owners",
            "A query scale for each batch entry, key scales of heads, and value scales of both, two of each",
        )(
            SQUARE,
            **OF_UNLIKE_FORMATS,
            query_scale=as_column(OF_TWO["query"]),
            key_scale=OF_TWO["key"],
            value_scale=((0.37, 0.059), (0.0213, 3.1)),
        ),
        quantized(
            "unlike_owners_turned",
            "Query scales of both, a key scale for each batch entry, and value scales of heads in a row, two of each",
        )(
            SQUARE,
            **OF_UNLIKE_FORMATS,
            query_scale=((0.0275, 0.0091), (0.013, 0.046)),
            key_scale=as_column(OF_TWO["key"]),
            value_scale=(OF_TWO["value"],),
        ),
        quantized("more_heads_than_entries", "Two batch entries of three key heads, with scales for each")(
            Sizes(2, 6, 3, 1, 3, 2),
            **OF_UNLIKE_FORMATS,
            **scales(lambda tensor: (OF_THREE[tensor], OF_THREE[tensor][::-1])),
        ),
        quantized("one_number_in_a_table", "One scale of each tensor, as (1, 1), in two batch entries of two heads")(
            SQUARE, **ALL, **scales(lambda tensor: ((OF_TWO[tensor][1],),))
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Return every format with every granularity.
        *(
            quantized(f"{short}_{name}", f"Keys and values in {dtype}, {what}")(
                SMALL,
                report=FLASH if (short, name) == ("e4m3", "per_tensor") else None,
                key=dtype,
                value=dtype,
                key_scale=key_scale,
                value_scale=value_scale,
            )
            for short, dtype in FORMATS.items()
            for name, what, key_scale, value_scale, _ in _GRANULARITIES
        ),
        *queries(),
        *heads(),
        *of_entries(),
        *of_heads(),
        # Return scales of 0, which a tensor of zeros has, and negative ones.
        *(
            quantized(f"zero_{tensor}_scale", f"A scale of 0 of the {tensor} in the first head")(
                ROW, also="logsumexp", **ALL, **scales(lambda name: (0.0, OF_TWO[name][1]), (tensor,))
            )
            for tensor in TENSORS
        ),
        *(
            quantized(f"negative_{tensor}_scale", f"A negative scale of the {tensor} in the second head")(
                ROW, also="logsumexp", **ALL, **scales(lambda name: (OF_TWO[name][0], -OF_TWO[name][1]), (tensor,))
            )
            for tensor in TENSORS
        ),
    )
