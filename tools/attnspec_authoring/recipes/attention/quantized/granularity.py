"""One scale for a tensor, for each head, for each head of each batch entry; heads that share; queries with a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized.numbers import (
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
    VALUE_SCALE,
    VALUE_SCALES,
    VALUE_SCALES_OF_BATCH,
    VALUE_SCALES_OF_THREE,
    quantized,
)
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SMALL = Sizes(3, 2, 2, 1, 4, 3)
GROUPED = Sizes(2, 6, 2, 1, 4, 2)
FLASH = "https://github.com/flashinfer-ai/flashinfer/issues/4979"

_GRANULARITIES = (
    row("per_tensor", "one scale for a tensor")(KEY_SCALE, VALUE_SCALE, QUERY_SCALE),
    row("per_head", "a scale for each head")(KEY_SCALES, VALUE_SCALES, QUERY_SCALES),
    row("per_batch_entry", "a scale for each head of each batch entry")(
        KEY_SCALES_OF_THREE, VALUE_SCALES_OF_THREE, QUERY_SCALES_OF_THREE
    ),
)


def keys_and_values() -> tuple[AuthoredCase, ...]:
    """Return every format with every granularity."""
    return tuple(
        quantized(f"{short}_{name}", f"Keys and values in {dtype}, {what}")(
            SMALL,
            url=FLASH if (short, name) == ("e4m3", "per_tensor") else None,
            key=dtype,
            value=dtype,
            key_scale=key_scale,
            value_scale=value_scale,
        )
        for short, dtype in FORMATS.items()
        for name, what, key_scale, value_scale, _ in _GRANULARITIES
    )


def queries() -> tuple[AuthoredCase, ...]:
    """Return queries with scales of their own."""
    return (
        *(
            quantized(f"query_{name}", f"Query, keys and values in float8_e4m3fn, {what}")(
                SMALL,
                url="https://github.com/vllm-project/vllm/pull/42080" if name == "per_tensor" else None,
                query=E4M3,
                key_scale=key_scale,
                value_scale=value_scale,
                query_scale=query_scale,
            )
            for name, what, key_scale, value_scale, query_scale in _GRANULARITIES
        ),
        quantized("query_e5m2", "Query, keys and values in float8_e5m2")(SMALL, query=E5M2, key=E5M2, value=E5M2),
        quantized("query_int8", "Query, keys and values in int8, a scale for each head")(
            SMALL,
            query=INT8,
            key=INT8,
            value=INT8,
            query_scale=QUERY_SCALES,
            key_scale=KEY_SCALES,
            value_scale=VALUE_SCALES,
        ),
        quantized("query_and_keys_alone", "Query and keys in int8, values in the dtype of the run")(
            SMALL, query=INT8, key=INT8, value=None, query_scale=QUERY_SCALES, key_scale=KEY_SCALES
        ),
        quantized("query_grouped", "Six query heads take the query scales of the two key heads that they read")(
            GROUPED,
            query=E4M3,
            query_scale=QUERY_SCALES_OF_BATCH,
            key_scale=KEY_SCALES_OF_BATCH,
            value_scale=VALUE_SCALES_OF_BATCH,
        ),
        quantized("query_steps", "A quantized query, with scores, weights and logsumexp")(
            Sizes(1, 2, 1, 3, 4, 3),
            outputs=("output", "weights", "logsumexp", "scores", "logits"),
            query=E4M3,
            key=E4M3,
        ),
    )


def heads() -> tuple[AuthoredCase, ...]:
    """Return scales beside grouped heads, and scales whose axes could be taken for others."""
    return (
        quantized("grouped_per_head", "Six query heads over two key heads, each with its scales")(
            GROUPED, key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        quantized(
            "grouped_per_batch_entry", "Six query heads over two key heads in int8, with scales for each batch entry"
        )(GROUPED, key=INT8, value=INT8, key_scale=KEY_SCALES_OF_BATCH, value_scale=VALUE_SCALES_OF_BATCH),
        quantized(
            "grouped_three_heads",
            "Six query heads over three key heads, in three batch entries: a scale for each head, not for each entry",
        )(
            Sizes(3, 6, 3, 2, 4, 2),
            key=E5M2,
            value=INT8,
            key_scale=(0.0123, 0.0415, 0.0067),
            value_scale=(0.37, 0.059, 0.0213),
        ),
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
        quantized("entries_alone", "A scale for each batch entry, which all heads share")(
            SMALL,
            key=INT8,
            value=INT8,
            key_scale=((0.0123,), (0.0415,), (0.0067,)),
            value_scale=((0.059,), (0.37,), (0.0213,)),
        ),
        quantized("one_number_in_a_list", "One scale for a tensor, as a list of one")(
            SMALL, key=E5M2, value=E5M2, key_scale=(KEY_SCALE,), value_scale=((VALUE_SCALE,),)
        ),
        quantized(
            "unlike_granularity", "One scale for all keys, and one for the values of each head of each batch entry"
        )(SMALL, value_scale=VALUE_SCALES_OF_THREE),
        quantized("unlike_granularity_of_keys", "A scale for the keys of each head, and one for all values")(
            SMALL, key=INT8, value=INT8, key_scale=KEY_SCALES
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases about whom a scale belongs to."""
    return (*keys_and_values(), *queries(), *heads())
