"""One tensor that is quantized, or two, beside others in the dtype of the run: each has its scale by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.quantized.numbers import (
    E4M3,
    E5M2,
    INT8,
    KEY_SCALES_OF_BATCH,
    KEY_SCALES_OF_THREE,
    QUERY_SCALES,
    QUERY_SCALES_OF_BATCH,
    QUERY_SCALES_OF_THREE,
    VALUE_SCALES,
    VALUE_SCALES_OF_BATCH,
    quantized,
)

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SMALL, GROUPED, PAST = Sizes(3, 2, 2, 1, 3, 2), Sizes(2, 4, 2, 2, 3, 2), Sizes(2, 4, 2, 2, 2, 2, past=2)
BOTH = ("output", "logsumexp")
QUERY: dict[str, Any] = {"key": None, "value": None}
KEY: dict[str, Any] = {"value": None}
VALUE: dict[str, Any] = {"key": None}


def queries() -> tuple[AuthoredCase, ...]:
    """Return quantized queries beside keys that are not."""
    slopes: dict[str, Any] = {"alibi_slopes": [0.5, 0.125, 0.25, 1.0], "causal_alignment": TOP_LEFT}
    return (
        quantized("query_alone", "A query in float8_e4m3fn alone, one scale")(SMALL, query=E4M3, outputs=BOTH, **QUERY),
        quantized("query_alone_per_head", "A query in int8 alone, a scale for each of two key heads, grouped")(
            GROUPED, query=INT8, query_scale=QUERY_SCALES, outputs=BOTH, **QUERY
        ),
        quantized(
            "query_alone_per_batch_entry", "A query in float8_e5m2 alone, a scale for each head of each batch entry"
        )(SMALL, query=E5M2, query_scale=QUERY_SCALES_OF_THREE, **QUERY),
        quantized("query_alone_softcap_sinks", "A query in int8 alone, with a softcap, sinks and a stated scale")(
            GROUPED,
            query=INT8,
            query_scale=QUERY_SCALES_OF_BATCH,
            softcap=1.5,
            sinks=[0.5, -1.0, 1.5, 0.0],
            scale=0.75,
            **QUERY,
        ),
        quantized("query_alone_mask_alibi", "A query in float8_e4m3fn alone, with a float mask and distances")(
            GROUPED,
            query=E4M3,
            query_scale=QUERY_SCALES,
            mask=float_mask("quantized/query_alone_mask_alibi", (2, 3)),
            **slopes,
            **QUERY,
        ),
        quantized("query_alone_past", "A query in int8 alone, causal behind a past that is not quantized")(
            PAST, query=INT8, query_scale=QUERY_SCALES, is_causal=True, **QUERY
        ),
        quantized("query_and_values", "Query and values in int8, keys in the dtype of the run")(
            GROUPED, query=INT8, value=INT8, query_scale=QUERY_SCALES, value_scale=VALUE_SCALES, **VALUE
        ),
        quantized(
            "query_and_values_per_batch_entry",
            "Query in float8_e5m2 and values in float8_e4m3fn, keys in the dtype of the run",
        )(
            GROUPED,
            query=E5M2,
            query_scale=QUERY_SCALES_OF_BATCH,
            value_scale=VALUE_SCALES_OF_BATCH,
            sinks=[0.5, -1.0, 1.5, 0.0],
            outputs=BOTH,
            **VALUE,
        ),
        quantized(
            "query_and_keys_per_batch_entry", "Query in float8_e4m3fn and keys in int8, values in the dtype of the run"
        )(
            GROUPED,
            query=E4M3,
            key=INT8,
            query_scale=QUERY_SCALES_OF_BATCH,
            key_scale=KEY_SCALES_OF_BATCH,
            outputs=BOTH,
            **KEY,
        ),
    )


def keys_or_values() -> tuple[AuthoredCase, ...]:
    """Return quantized keys beside values that are not, and the other way round."""
    lengths: dict[str, Any] = {"key_lengths": [3, 2], "query_lengths": [2, 1], "is_causal": True}
    return (
        quantized("keys_alone_per_batch_entry", "Keys in int8 alone, a scale for each head of each batch entry")(
            SMALL, key=INT8, key_scale=KEY_SCALES_OF_THREE, outputs=BOTH, **KEY
        ),
        quantized("keys_alone_past", "Keys in float8_e5m2 alone, behind a past of which the keys are quantized, too")(
            PAST, key=E5M2, key_scale=KEY_SCALES_OF_BATCH, softcap=1.0, **KEY
        ),
        quantized("keys_alone_lengths", "Keys in float8_e4m3fn alone, with lengths, causal")(
            GROUPED, key_scale=KEY_SCALES_OF_BATCH, causal_alignment=BOTTOM_RIGHT, **lengths, **KEY
        ),
        quantized(
            "values_alone_per_batch_entry",
            "Values in int8 alone, a scale for each head of each batch entry, grouped, with sinks",
        )(
            GROUPED,
            value=INT8,
            value_scale=VALUE_SCALES_OF_BATCH,
            sinks=[0.5, -1.0, 1.5, 0.0],
            outputs=("output", "weights", "logsumexp"),
            **VALUE,
        ),
        quantized(
            "values_alone_past", "Values in float8_e5m2 alone, behind a past of which the values are quantized, too"
        )(PAST, value=E5M2, value_scale=VALUE_SCALES, **VALUE),
        quantized("values_alone_mask", "Values in float8_e4m3fn alone, with a Boolean mask and lengths")(
            GROUPED,
            value_scale=((0.37,), (0.059,)),
            mask=boolean_mask("quantized/values_alone_mask", (2, 3)),
            key_lengths=[3, 2],
            **VALUE,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of tensors that are quantized alone."""
    return (*queries(), *keys_or_values())
