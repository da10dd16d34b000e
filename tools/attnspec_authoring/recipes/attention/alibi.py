"""Profile alibi: a penalty for the distance between query and key, with a slope for each query head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    booleans,
    counting,
    floats,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

alibi = profile("alibi")

BATCH = Sizes(3, 2, 2, 5, 5)
SQUARE = Sizes(1, 2, 2, 5, 5)
FEWER = Sizes(1, 2, 2, 4, 6)
MORE = Sizes(1, 2, 2, 6, 4)
SLOPES = np.array([0.5, 0.0625])


def slope_cases() -> tuple[AuthoredCase, ...]:
    """Hold what slopes do, on as many queries as keys."""
    case = table(alibi, clauses="alibi.distance")
    powers = Sizes(1, 2, 2, 3, 3, width=1)
    three = Sizes(1, 3, 3, 4, 4)
    seven = Sizes(1, 7, 7, 3, 3)
    return (
        case("causal", "Two slopes, causal")(SQUARE, is_causal=True, alibi_slopes=SLOPES),
        alibi("causal_other_values", "Two slopes, causal, other values")(SQUARE, is_causal=True, alibi_slopes=SLOPES),
        case("causal_powers", "Zero scores and powers of two as values: distance is punished, not rewarded")(
            powers,
            report="meta-pytorch/attention-gym/pull/86",
            is_causal=True,
            alibi_slopes=[0.25, 1.0],
            **counting(powers),
        ),
        case("both_sides", "Not causal: keys to the right are as far away as keys to the left")(
            powers, alibi_slopes=[0.25, 1.0], **counting(powers)
        ),
        alibi("both_sides_drawn", "Not causal, with drawn numbers")(
            SQUARE, alibi_slopes=SLOPES, changed_argument=ChangedArgument("alibi_slopes", reversed=True), revision=2
        ),
        alibi("three_heads", "Three heads, not a power of two")(
            three,
            clauses="alibi.heads",
            report="ggml-org/llama.cpp/pull/20031",
            is_causal=True,
            alibi_slopes=[0.0625, 0.00390625, 0.25],
        ),
        *(
            alibi(f"published_{heads}", f"The published slopes of {heads} heads")(
                sizes, clauses="alibi.heads", alibi_slopes=2.0 ** -np.array(exponents), **causal
            )
            for heads, sizes, exponents, causal in (
                ("four", Sizes(1, 4, 4, 5, 5, 2), (2.0, 4.0, 6.0, 8.0), {"is_causal": True}),
                ("five", Sizes(1, 5, 5, 4, 4, 2), (2.0, 4.0, 6.0, 8.0, 1.0), {}),
                ("six", Sizes(2, 6, 6, 4, 4, 2), (2.0, 4.0, 6.0, 8.0, 1.0, 3.0), {"is_causal": True}),
            )
        ),
        alibi("seven_heads", "Seven slopes")(seven, is_causal=True, alibi_slopes=2.0 ** -np.arange(7.0)),
        alibi("slope_zero", "A head with the slope zero")(SQUARE, is_causal=True, alibi_slopes=[0.0, 1.0], revision=2),
        alibi("steep", "A slope that leaves little but the nearest key")(SQUARE, alibi_slopes=[8.0, 2.0]),
        case("steps", "Logits and logsumexp of causal attention with slopes")(
            Sizes(1, 2, 2, 5, 5), also="weights logsumexp scores logits", is_causal=True, alibi_slopes=SLOPES
        ),
        alibi("weights", "Weights with slopes, not causal")(Sizes(1, 2, 2, 5, 5), also="weights", alibi_slopes=SLOPES),
    )


def position_cases() -> Iterator[AuthoredCase]:
    """Position queries by alignment, past and lengths."""
    case = table(alibi, alibi_slopes=SLOPES)
    after_five = Sizes(3, 2, 2, 1, 1, past=5)
    yield case("past_of_one_query", "One query after a past, and nothing beside the slopes")(after_five)
    yield case("past_of_one_query_causal", "One query after a past, causal")(after_five, is_causal=True)
    for alignment in (TOP_LEFT, BOTTOM_RIGHT):
        short = alignment.split("_", maxsplit=1)[0]
        for name, sizes in (("fewer", FEWER), ("more", MORE)):
            yield case(f"{name}_queries_{short}", f"{name.capitalize()} queries than keys, {short}")(
                sizes, clauses=("sdpa.alibi.position",) if alignment == BOTTOM_RIGHT else (), causal_alignment=alignment
            )
        yield case(f"causal_fewer_queries_{short}", f"Fewer queries than keys, causal with slopes, {short}")(
            FEWER, is_causal=True, causal_alignment=alignment
        )
    yield from (
        case("decode", "One query at the last of six keys")(Sizes(3, 2, 2, 1, 6), clauses="alibi.position", **BOTTOM),
        case("past", "Distances to past keys")(
            Sizes(1, 2, 2, 4, 4, past=3), clauses="alibi.position past.position", is_causal=True
        ),
        case("key_lengths", "Distances from the last counted key of each batch entry")(
            Sizes(3, 2, 2, 1, 6), clauses="alibi.position key_lengths.alignment", key_lengths=[6, 4, 1], **BOTTOM
        ),
        alibi("lengths_both_sides", "Distances to both sides of queries that the lengths place")(
            Sizes(2, 1, 1, 3, 5),
            report="microsoft/onnxruntime/pull/29247",
            alibi_slopes=[0.5],
            key_lengths=[4, 5],
            query_lengths=[3, 2],
            **BOTTOM,
        ),
    )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put slopes together with masks, windows, scales and sinks."""
    case = table(attention, alibi_slopes=SLOPES)
    added, boolean = "alibi/float_mask", "alibi/boolean_mask"
    return (
        case(added, "Slopes and a float mask are both added")(
            BATCH, clauses="alibi.distance mask.additive", mask=floats(3, 1, 5, 5)
        ),
        case(boolean, "Slopes and a Boolean mask")(SQUARE, mask=booleans(2, 5, 5)),
        case("alibi/window", "Slopes within a window")(SQUARE, window=[2, 1]),
        case("alibi/not_scaled", "The scale does not touch the slopes")(
            SQUARE, clauses="alibi.distance scale.explicit", scale=0.125
        ),
        case("alibi/scale_zero", "With the scale zero only the distances count")(SQUARE, scale=0.0),
        case("alibi/sinks", "Slopes and sinks")(SQUARE, sinks=[0.5, -1.0], is_causal=True),
        alibi("grouped_causal", "Six slopes over two shared heads, causal")(
            Sizes(1, 6, 2, 4, 4),
            clauses="alibi.heads heads.grouped",
            alibi_slopes=[0.25, 0.0625, 0.015625, 0.5, 0.125, 1.0],
            is_causal=True,
        ),
        case("alibi/values_wider", "Slopes and values wider than the keys")(Sizes(1, 2, 2, 5, 5, 3, 6)),
    )


def beyond_the_keys() -> tuple[AuthoredCase, ...]:
    """Hold queries beyond all keys: the distances of a row grow alike, as its logits, logsumexp and sink show."""
    shown = ("output", "weights", "logsumexp", "logits")
    slopes: dict[str, Any] = {"alibi_slopes": SLOPES, "causal_alignment": TOP_LEFT}
    several = Sizes(3, 2, 2, 7, 4)
    return (
        alibi("beyond_the_keys", "Seven queries, four keys")(several, outputs=shown, **slopes),
        alibi("beyond_the_keys_sinks", "The same with sinks")(several, sinks=[0.5, -1.0], **slopes),
        alibi("beyond_one_key_sinks", "Five queries, one key, and sinks")(
            Sizes(3, 2, 2, 5, 1), sinks=[0.0, -2.0], **slopes
        ),
        alibi("beyond_the_lengths", "Queries beyond the keys that count")(
            Sizes(3, 2, 2, 5, 6), outputs=shown, key_lengths=[1, 6, 3], **slopes
        ),
        alibi("beyond_the_lengths_sinks", "Queries beyond the keys that count, and sinks")(
            Sizes(3, 2, 2, 5, 6), key_lengths=[1, 6, 3], sinks=[0.5, -1.0], **slopes
        ),
        alibi("before_the_keys_sinks", "The last of seven queries at the last of four keys, and sinks")(
            several, sinks=[0.5, -1.0], alibi_slopes=SLOPES, **BOTTOM
        ),
    )


def padded_cases() -> Iterator[AuthoredCase]:
    """Hold masks of padded keys for each entry: padding moves no position, neither of keys nor of queries."""
    padding = {
        "left": np.arange(5) >= np.array([0, 3, 2])[:, np.newaxis],
        "gaps": np.array([[1, 0, 1, 1, 0], [0, 1, 0, 1, 1], [1, 1, 0, 0, 1]], dtype=np.bool_),
    }
    rules: dict[str, dict[str, Any]] = {
        "both_sides": {"causal_alignment": TOP_LEFT},
        "causal": {"is_causal": True, "causal_alignment": BOTTOM_RIGHT},
    }
    for kind, seen in padding.items():
        for name, rule in rules.items():
            for form in ("boolean", "float"):
                mask = seen.reshape(3, 1, 1, 5)
                yield alibi(
                    f"padded_{kind}_{name}_{form}",
                    f"Slopes beside a {form} mask of padded keys for each entry, {kind}, {name.replace('_', ' ')}",
                )(
                    Sizes(3, 2, 2, 4, 5),
                    alibi_slopes=[1.0, 0.25],
                    mask=mask if form == "boolean" else np.where(mask, 0.0, -np.inf),
                    **rule,
                )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile alibi."""
    return (
        *slope_cases(),
        *position_cases(),
        *combined_cases(),
        *beyond_the_keys(),
        *padded_cases(),
        *pairwise_cases("alibi"),
    )
