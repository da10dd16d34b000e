"""Quantized tensors beside other features, and one quantized tensor alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP,
    TOP_CAUSAL,
    TOP_LEFT,
    Sizes,
    booleans,
    floats,
)
from attnspec_authoring.recipes.attention.quantized.formats import (
    E4M3,
    E5M2,
    INT8,
    KEY_SCALES,
    KEY_SCALES_OF_BATCH,
    KEY_SCALES_OF_THREE,
    QUERY_SCALES,
    QUERY_SCALES_OF_BATCH,
    QUERY_SCALES_OF_THREE,
    SMALL,
    VALUE_SCALES,
    VALUE_SCALES_OF_BATCH,
    VALUE_SCALES_OF_THREE,
    quantized,
)
from attnspec_authoring.recipes.authoring import AuthoredCase, table

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = Sizes(1, 2, 2, 3, 4, 2)
SQUARE = Sizes(1, 2, 2, 4, 4, 2)
PAST = Sizes(3, 2, 2, 1, 4, 2, past=2)
PER_HEAD: dict[str, Any] = {"key_scale": KEY_SCALES, "value_scale": VALUE_SCALES}
STEPS = ("output", "weights", "logsumexp")


def of_logits() -> tuple[AuthoredCase, ...]:
    """Return what acts on scores and logits: it meets products, not numbers, and no scale meets it."""
    case = table(quantized, sizes=ONE)
    return (
        quantized("scale_explicit", "A stated scale beside the scales")(SMALL, scale=0.25, **PER_HEAD),
        case("scale_negative", "A negative scale of the scores")(key=INT8, value=INT8, scale=-0.75, **PER_HEAD),
        case("scale_zero", "A scale of zero of the scores: values are averaged")(scale=0.0, **PER_HEAD),
        case("softcap", "A softcap of scores that are products already")(also="scores logits", softcap=1.5, **PER_HEAD),
        case("softcap_of_query", "A softcap beside a quantized query")(
            query=INT8, key=INT8, value=INT8, query_scale=QUERY_SCALES, softcap=2.0, **PER_HEAD
        ),
        case("float_mask", "A float mask, which no scale touches")(also="logits", mask=floats(3, 4), **PER_HEAD),
        case("float_mask_of_query", "A float mask beside a quantized query")(
            query=E4M3, query_scale=QUERY_SCALES, mask=floats(2, 3, 4), **PER_HEAD
        ),
        case("alibi", "Distances, which no scale touches")(
            key=INT8, value=INT8, alibi_slopes=[0.5, 0.125], **TOP, **PER_HEAD
        ),
        case("sinks", "Sinks, which no scale touches")(outputs=STEPS, sinks=[1.5, -0.75], **PER_HEAD),
        quantized(
            "everything", "Six heads over two, a cap, a float mask, distances, sinks, causality, a window and lengths"
        )(
            Sizes(2, 6, 2, 3, 4, 2),
            also="logsumexp",
            key=INT8,
            value=E4M3,
            key_scale=KEY_SCALES_OF_BATCH,
            value_scale=VALUE_SCALES_OF_BATCH,
            mask=floats(3, 4),
            alibi_slopes=[0.25, 0.5, 0.125, 0.0625, 1.0, 0.75],
            sinks=[0.5, -0.5, 1.0, 0.0, 0.25, -1.0],
            **BOTTOM_CAUSAL,
            window=[2, 0],
            key_lengths=[4, 3],
            query_lengths=[3, 2],
            scale=0.75,
            softcap=2.0,
        ),
    )


def one_scale(name: str, title: str) -> Callable[..., AuthoredCase]:
    """Make a case of keys and values in int8 with one scale each."""
    made = quantized(f"one_scale_{name}", f"Int8 with one scale of keys and one of values, {title}")
    return partial(made, key=INT8, value=INT8)


def of_keys() -> tuple[AuthoredCase, ...]:
    """Return what takes keys away, and a past."""
    return (
        quantized("boolean_mask", "A Boolean mask")(ONE, mask=booleans(3, 4), **PER_HEAD),
        *(
            quantized(f"causal_{alignment}", f"Causality, {alignment.replace('_', '-')}")(
                SMALL, key=INT8, value=INT8, is_causal=True, causal_alignment=alignment, **PER_HEAD
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        one_scale("causal", "causal from the last key")(Sizes(1, 2, 2, 3, 5, 2), **BOTTOM_CAUSAL),
        one_scale("causal_scale", "causal, a stated scale")(Sizes(2, 3, 3, 4, 5, 2), scale=3.0, **BOTTOM_CAUSAL),
        one_scale("causal_square", "causal, as many queries as keys")(SQUARE, scale=2.5, is_causal=True),
        one_scale("scale", "a stated scale")(Sizes(1, 6, 2, 2, 4, 2), scale=4.0),
        quantized("window", "A window")(ONE, key=E5M2, value=E5M2, window=[1, 1], **BOTTOM, **PER_HEAD),
        quantized(
            "lengths",
            "Sequences of several lengths in int8, causal from the last query, with scales for each batch entry",
        )(
            Sizes(2, 6, 2, 3, 4, 2),
            key=INT8,
            value=INT8,
            key_scale=KEY_SCALES_OF_BATCH,
            value_scale=VALUE_SCALES_OF_BATCH,
            key_lengths=[4, 2],
            query_lengths=[3, 1],
            **BOTTOM_CAUSAL,
        ),
        quantized("past", "Past keys and values in the format of the new ones")(PAST, **PER_HEAD),
        quantized("past_per_batch_entry", "A past with scales for each batch entry, causal")(
            PAST, key=INT8, value=INT8, key_scale=KEY_SCALES_OF_THREE, value_scale=VALUE_SCALES_OF_THREE, **TOP_CAUSAL
        ),
        quantized("past_of_query", "A past beside a quantized query")(
            Sizes(3, 6, 2, 1, 2, 2, past=4), query=E4M3, query_scale=QUERY_SCALES, **PER_HEAD
        ),
        quantized("fully_masked_row", "One query of three may attend to no key")(
            ONE, outputs=STEPS, mask=np.broadcast_to((np.arange(3) != 2)[:, np.newaxis], (3, 4)).copy(), **PER_HEAD
        ),
        quantized("no_keys_of_an_entry", "A batch entry without keys beside two with keys")(
            Sizes(3, 2, 2, 1, 4, 2),
            also="logsumexp",
            key_scale=KEY_SCALES_OF_THREE,
            value_scale=VALUE_SCALES_OF_THREE,
            key_lengths=[3, 0, 4],
        ),
    )


ALONE, GROUPED, ALONE_WITH_PAST = (Sizes(3, 2, 2, 1, 3, 2), Sizes(2, 4, 2, 2, 3, 2), Sizes(2, 4, 2, 2, 2, 2, past=2))
BOTH = ("output", "logsumexp")
QUERY: dict[str, Any] = {"key": None, "value": None}
KEY: dict[str, Any] = {"value": None}
VALUE: dict[str, Any] = {"key": None}


def queries() -> tuple[AuthoredCase, ...]:
    """Return quantized queries beside keys that are not."""
    case = table(quantized, sizes=GROUPED, query_scale=QUERY_SCALES_OF_BATCH)
    slopes: dict[str, Any] = {"alibi_slopes": [0.5, 0.125, 0.25, 1.0], "causal_alignment": TOP_LEFT}
    return (
        quantized("query_alone", "A query in float8_e4m3fn alone, one scale")(ALONE, query=E4M3, outputs=BOTH, **QUERY),
        quantized("query_alone_per_head", "A query in int8 alone, a scale for each of two key heads, grouped")(
            GROUPED, query=INT8, query_scale=QUERY_SCALES, outputs=BOTH, **QUERY
        ),
        quantized(
            "query_alone_per_batch_entry", "A query in float8_e5m2 alone, a scale for each head of each batch entry"
        )(ALONE, query=E5M2, query_scale=QUERY_SCALES_OF_THREE, **QUERY),
        case("query_alone_softcap_sinks", "A query in int8 alone, with a softcap, sinks and a stated scale")(
            query=INT8, softcap=1.5, sinks=[0.5, -1.0, 1.5, 0.0], scale=0.75, **QUERY
        ),
        quantized("query_alone_mask_alibi", "A query in float8_e4m3fn alone, with a float mask and distances")(
            GROUPED, query=E4M3, query_scale=QUERY_SCALES, mask=floats(2, 3), **slopes, **QUERY
        ),
        quantized("query_alone_past", "A query in int8 alone, causal behind a past that is not quantized")(
            ALONE_WITH_PAST, query=INT8, query_scale=QUERY_SCALES, is_causal=True, **QUERY
        ),
        quantized("query_and_values", "Query and values in int8, keys in the dtype of the run")(
            GROUPED, query=INT8, value=INT8, query_scale=QUERY_SCALES, value_scale=VALUE_SCALES, **VALUE
        ),
        case(
            "query_and_values_per_batch_entry",
            "Query in float8_e5m2 and values in float8_e4m3fn, keys in the dtype of the run",
        )(query=E5M2, value_scale=VALUE_SCALES_OF_BATCH, sinks=[0.5, -1.0, 1.5, 0.0], outputs=BOTH, **VALUE),
        case(
            "query_and_keys_per_batch_entry", "Query in float8_e4m3fn and keys in int8, values in the dtype of the run"
        )(query=E4M3, key=INT8, key_scale=KEY_SCALES_OF_BATCH, outputs=BOTH, **KEY),
    )


def keys_or_values() -> tuple[AuthoredCase, ...]:
    """Return quantized keys beside values that are not, and the other way round."""
    lengths: dict[str, Any] = {"key_lengths": [3, 2], "query_lengths": [2, 1], "is_causal": True}
    return (
        quantized("keys_alone_per_batch_entry", "Keys in int8 alone, a scale for each head of each batch entry")(
            ALONE, key=INT8, key_scale=KEY_SCALES_OF_THREE, outputs=BOTH, **KEY
        ),
        quantized("keys_alone_past", "Keys in float8_e5m2 alone, behind a past of which the keys are quantized, too")(
            ALONE_WITH_PAST, key=E5M2, key_scale=KEY_SCALES_OF_BATCH, softcap=1.0, **KEY
        ),
        quantized("keys_alone_lengths", "Keys in float8_e4m3fn alone, with lengths, causal")(
            GROUPED, key_scale=KEY_SCALES_OF_BATCH, **BOTTOM, **lengths, **KEY
        ),
        quantized(
            "values_alone_per_batch_entry",
            "Values in int8 alone, a scale for each head of each batch entry, grouped, with sinks",
        )(
            GROUPED,
            value=INT8,
            value_scale=VALUE_SCALES_OF_BATCH,
            sinks=[0.5, -1.0, 1.5, 0.0],
            also="weights logsumexp",
            **VALUE,
        ),
        quantized(
            "values_alone_past", "Values in float8_e5m2 alone, behind a past of which the values are quantized, too"
        )(ALONE_WITH_PAST, value=E5M2, value_scale=VALUE_SCALES, **VALUE),
        quantized("values_alone_mask", "Values in float8_e4m3fn alone, with a Boolean mask and lengths")(
            GROUPED, value_scale=((0.37,), (0.059,)), mask=booleans(2, 3), key_lengths=[3, 2], **VALUE
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*of_logits(), *of_keys(), *queries(), *keys_or_values())
