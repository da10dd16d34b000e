"""Profile causal: both alignments, with fewer and with more queries than keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    booleans,
    counting,
    floats,
    probe,
    probe_sizes,
    profile,
)
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

causal = profile("causal")

FEWER = Sizes(1, 2, 2, 4, 6)
BATCH = Sizes(3, 2, 2, 4, 6)
SQUARE = Sizes(1, 2, 2, 5, 5)
ALIGNMENTS = {TOP_LEFT: "the first query at the first key", BOTTOM_RIGHT: "the last query at the last key"}
REPORTS = {
    ("fewer_queries", TOP_LEFT): "microsoft/onnxruntime/issues/29020",
    ("fewer_queries", BOTTOM_RIGHT): "pytorch/executorch/issues/22426",
    ("one_query", TOP_LEFT): "pytorch/pytorch/issues/103082",
    ("one_query", BOTTOM_RIGHT): "ROCm/flash-attention/issues/158",
    ("more_queries", BOTTOM_RIGHT): "NVIDIA/cutlass/issues/2336",
}
CHANGED = {("fewer_queries", BOTTOM_RIGHT): ChangedArgument("causal_alignment", TOP_LEFT)}


def alignment_cases() -> Iterator[AuthoredCase]:
    """Hold every relation of lengths under both alignments, as a probe and with drawn numbers."""
    lengths = {
        "fewer_queries": ((4, 6), "Four queries, six keys"),
        "more_queries": ((6, 4), "Six queries, four keys"),
        "one_query": ((1, 5), "One query, five keys"),
        "one_key": ((5, 1), "Five queries, one key"),
    }
    for name, ((queries, keys), what) in lengths.items():
        for alignment, where in ALIGNMENTS.items():
            clause = f"sdpa.causal.{alignment}"
            batch = 1 if min(queries, keys) > 1 else 3
            sizes = Sizes(batch, 2, 2, queries, keys)
            probed = probe_sizes(batch, 2, 2, queries, keys)
            yield causal(f"{name}_{alignment}", f"{what}, causal, {where}")(
                sizes,
                clauses=(clause,),
                report=REPORTS.get((name, alignment)),
                changed_argument=CHANGED.get((name, alignment)),
                revision=2 if (name, alignment) in CHANGED else 1,
                is_causal=True,
                causal_alignment=alignment,
            )
            yield causal(f"{name}_{alignment}_probe", f"{what}, causal, {where}: which keys are seen")(
                probed, clauses=(clause,), is_causal=True, causal_alignment=alignment, **probe(probed)
            )
    # Equal scores and drawn values: the output shows which keys were attended.
    yield causal("more_positions_than_a_byte", "Positions beyond 255, aligned to the last key")(
        Sizes(1, 2, 1, 3, 260, width=1),
        query=np.zeros((1, 2, 3, 1)),
        key=np.zeros((1, 1, 260, 1)),
        value=grid("causal/more_positions_than_a_byte", (1, 1, 260, 1)),
        **BOTTOM_CAUSAL,
    )


def combined_cases() -> Iterator[AuthoredCase]:
    """Put causality together with masks, scales and widths, under each alignment."""
    for alignment in ALIGNMENTS:
        clause = f"sdpa.causal.{alignment}"
        short = alignment.split("_", maxsplit=1)[0]
        stated: dict[str, Any] = {"is_causal": True, "causal_alignment": alignment, "clauses": (clause,)}
        yield from (
            causal(f"{short}_boolean_mask", f"A key must be allowed by the mask and by causality ({short})")(
                BATCH,
                report="huggingface/transformers/pull/41966" if alignment == TOP_LEFT else None,
                mask=booleans(3, 1, 4, 6),
                **stated,
            ),
            causal(f"{short}_float_mask", f"A float mask is added where causality leaves keys ({short})")(
                FEWER, mask=floats(2, 4, 6), **stated
            ),
            causal(f"{short}_scale", f"Causal with a negative scale ({short})")(FEWER, scale=-0.5, **stated),
            causal(f"{short}_values_wider", f"Causal with values wider than the keys ({short})")(
                Sizes(1, 2, 2, 4, 6, 3, 5), **stated
            ),
            causal(f"{short}_steps", f"Weights, logits and logsumexp of causal attention ({short})")(
                Sizes(1, 2, 2, 4, 6), also="weights logsumexp logits", **stated
            ),
        )


def square_cases() -> tuple[AuthoredCase, ...]:
    """Hold as many queries as keys, where the alignment makes no difference and is not stated."""
    case = table(causal, is_causal=True)
    probed = probe_sizes(1, 2, 2, 5, 5)
    powers = Sizes(3, 2, 2, 5, 5, width=1)
    lower = np.tri(5, dtype=np.bool_)
    future = SQUARE.drawn("causal/square")
    changed: dict[str, Any] = {name: array.copy() for name, array in future.items()}
    for name in ("key", "value"):
        changed[name][:, :, 3:] = -changed[name][:, :, 3:] * 2.0
    return (
        case("square", "As many queries as keys, causal")(
            SQUARE, clauses="causal.top_left", report="jax-ml/jax/issues/19237"
        ),
        case("square_other_values", "Causal, the same shapes with other values")(SQUARE),
        causal("square_off", "The inputs of causal/square with causality off")(SQUARE, drawn_as="causal/square"),
        causal("square_as_mask", "The inputs of causal/square with the same exclusions as a Boolean mask")(
            SQUARE, report="pytorch/pytorch/issues/165838", drawn_as="causal/square", mask=lower
        ),
        case("square_future_changed", "Other keys and values in the future change no earlier output")(
            SQUARE, clauses="causal.top_left", **changed
        ),
        case("square_probe", "Causal: query i sees the keys 0 to i")(probed, **probe(probed)),
        case("square_powers", "Causal, with powers of two as values")(powers, **counting(powers)),
        case("square_mask_of_the_rest", "A mask of the other half and causality leave each query only itself")(
            SQUARE, mask=~np.tri(5, k=-1, dtype=np.bool_)
        ),
        causal(
            "square_prefix_as_mask", "A mask by which all queries see the first three keys, and later ones causally"
        )(SQUARE, mask=lower | (np.arange(5) < 3)),
        case("square_scale", "Causal with a stated scale")(SQUARE, scale=1.5),
        case("square_scale_negative", "Causal with a negative scale")(Sizes(2, 3, 3, 4, 4, 2), scale=-0.75),
        case("square_scale_of_width_8", "Causal with a stated scale, over eight features")(
            Sizes(1, 2, 2, 4, 4, 8), scale=0.125
        ),
        case("square_dead_row", "A mask takes away the only key of the first query")(
            SQUARE, clauses="fully_masked_row", also="weights", mask=np.arange(5)[np.newaxis, :] != 0
        ),
        case("one_token", "One query, one key, causal")(Sizes(3, 2, 2, 1, 1)),
        case("wide", "Causal with eight features and eleven in the values")(Sizes(1, 2, 2, 5, 5, 8, 11)),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile causal."""
    return (*alignment_cases(), *combined_cases(), *square_cases())
