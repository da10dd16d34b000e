"""Profile grouped_query: query heads that share key and value heads.

The number of query heads that share a head differs from the number of shared heads; were they equal, an index that
confuses the two would be right by accident.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP_CAUSAL,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    coarse,
    float_mask,
    floats,
    probe,
    probe_sizes,
    profile,
)
from attnspec_authoring.recipes.authoring import AuthoredCase, table

grouped_query = profile("grouped_query")

SIX_OVER_TWO = Sizes(1, 6, 2, 3, 5)
SIX_OVER_THREE = Sizes(2, 6, 3, 4, 5)
THREE_OVER_ONE = Sizes(2, 3, 1, 4, 5)
EIGHT_OVER_TWO = Sizes(1, 8, 2, 3, 5)
CLAUSE = ("sdpa.heads.grouped",)


def mapping_cases() -> tuple[AuthoredCase, ...]:
    """Hold which head is read, for several groups."""
    case = table(grouped_query, clauses=CLAUSE)
    distinguish = Sizes(1, 6, 2, 4, 5, width=1)
    numbered = np.broadcast_to(np.array([10.0, 20.0]).reshape(1, 2, 1, 1), (1, 2, 5, 1))
    zeros: dict[str, Any] = {"query": np.zeros((1, 6, 4, 1)), "key": np.zeros((1, 2, 5, 1))}
    return (
        case("which_head", "The values are 10 in the first shared head and 20 in the second")(
            distinguish, report="onnx/onnx/pull/7274", value=numbered, **zeros
        ),
        case("six_over_two", "Six query heads share two")(SIX_OVER_TWO, report="ekzhang/jax-js/pull/180"),
        case("six_over_two_other_values", "Six over two, with other values")(SIX_OVER_TWO),
        case("six_over_three", "Six query heads share three, in two batch entries")(
            SIX_OVER_THREE, report="HazyResearch/HipKittens/pull/22"
        ),
        case("three_over_one", "Three query heads share one")(THREE_OVER_ONE),
        case("eight_over_two", "Eight query heads share two")(EIGHT_OVER_TWO),
        case("twelve_over_three", "Twelve query heads share three")(Sizes(1, 12, 3, 2, 4)),
        case("no_query_heads", "No query head over two shared ones")(
            Sizes(3, 0, 2, 4, 5), report="pytorch/pytorch/issues/141218"
        ),
        case("steps", "Scores, weights and logsumexp of grouped heads")(
            Sizes(1, 6, 2, 3, 4), also="weights logsumexp scores"
        ),
        case("one_query", "One query against five keys")(Sizes(2, 6, 3, 1, 5)),
        case("values_wider", "Values wider than the keys")(Sizes(1, 6, 2, 3, 5, 3, 4)),
        case("more_queries", "More queries than keys")(Sizes(2, 3, 1, 6, 5)),
    )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put grouped heads together with masks, causality, windows, softcaps, sinks and a cache."""
    case = table(attention, clauses=CLAUSE)
    heads = "grouped_query/mask_for_each_query_head"
    whole = "grouped_query/float_mask_rank_4"
    batch = "grouped_query/mask_for_each_batch_entry"
    seen = probe_sizes(1, 6, 2, 3, 5)
    past = Sizes(1, 6, 2, 3, 4, past=2)
    aligned, wide = "grouped_query/aligned_width", Sizes(1, 6, 2, 2, 4, 8)
    return (
        case(heads, "A Boolean mask for each query head, not for each shared head")(
            SIX_OVER_TWO, report="intel/torch-xpu-ops/issues/5090", mask=booleans(6, 3, 5)
        ),
        case(f"{heads}_probe", "Which keys a mask for each query head leaves")(
            seen, mask=booleans(6, 3, 5), **probe(seen)
        ),
        *(
            case(name, f"A {kind} mask for each query head, where all share one key head")(
                Sizes(1, 3, 1, 4, 5), report="openvinotoolkit/openvino/pull/21217", mask=draw(name, (3, 4, 5))
            )
            for name, kind, draw in (
                ("grouped_query/boolean_mask_for_each_of_three", "Boolean", boolean_mask),
                ("grouped_query/float_mask_for_each_of_three", "float", float_mask),
            )
        ),
        case(whole, "A float mask of rank 4 over grouped heads and unequal lengths")(
            SIX_OVER_THREE, report="huggingface/candle/issues/3388", mask=floats(2, 1, 4, 5)
        ),
        case(batch, "A row of a mask for each batch entry")(THREE_OVER_ONE, mask=booleans(2, 1, 1, 5)),
        *(
            grouped_query(f"causal_{alignment}", f"Grouped heads, causal, {alignment.replace('_', '-')}")(
                SIX_OVER_TWO,
                clauses=(*CLAUSE, f"sdpa.causal.{alignment}"),
                is_causal=True,
                causal_alignment=alignment,
                revision=2 if alignment == TOP_LEFT else 1,
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        case("grouped_query/window", "Grouped heads with a window")(SIX_OVER_TWO, window=[1, 1], **BOTTOM),
        case("grouped_query/mask_rank_4_for_each_query_head", "A Boolean mask of rank 4 for each query head")(
            SIX_OVER_TWO, mask=booleans(*SIX_OVER_TWO.mask)
        ),
        case("grouped_query/width_8", "Grouped heads of eight features, causal")(
            Sizes(2, 3, 1, 4, 4, 8), is_causal=True, revision=2
        ),
        case("grouped_query/softcap", "Grouped heads with a softcap")(SIX_OVER_TWO, softcap=1.5),
        case("grouped_query/scale", "Grouped heads with a stated scale")(THREE_OVER_ONE, scale=1.5),
        grouped_query("sinks", "A sink for each query head, not for each shared head")(
            SIX_OVER_TWO,
            clauses=(*CLAUSE, "sdpa.sinks.denominator"),
            report="pie-project/pie/pull/272",
            sinks=np.array([0.5, -1.0, 2.0, 0.0, 1.5, -0.25]),
        ),
        grouped_query("alibi", "A slope for each query head, not for each shared head")(
            SIX_OVER_TWO,
            clauses=(*CLAUSE, "sdpa.alibi.heads"),
            alibi_slopes=np.array([0.5, 0.25, 1.0, 0.125, 2.0, 0.75]),
            **BOTTOM,
        ),
        grouped_query("past", "Past keys and values have as many heads as the shared ones")(
            past, clauses=(*CLAUSE, "sdpa.past.concatenation"), **TOP_CAUSAL
        ),
        grouped_query("dead_head", "A mask leaves no key to one query head of a group")(
            SIX_OVER_TWO,
            clauses=(*CLAUSE, "sdpa.fully_masked_row"),
            mask=np.broadcast_to((np.arange(6) != 4).reshape(6, 1, 1), (6, 1, 5)),
        ),
        *(
            case(
                f"grouped_query/one_query_mask_of_heads_{kind}",
                f"One query, and a {kind} mask that differs among the heads of a group",
            )(Sizes(2, 6, 2, 1, 5), mask=mask_of(f"grouped_query/one_query_{kind}", (6, 1, 5)))
            for kind, mask_of in (("boolean", boolean_mask), ("float", float_mask))
        ),
        attention(aligned, "Heads of 8 features with window, causality, cap, distances, mask and sinks")(
            wide,
            report="HazyResearch/HipKittens/pull/22",
            **coarse(aligned, wide),
            mask=floats(2, 4),
            sinks=[0.5, -0.5, 1.0, 0.0, 0.25, -1.0],
            alibi_slopes=[0.25, 0.5, 0.125, 0.0625, 1.0, 0.75],
            **BOTTOM_CAUSAL,
            softcap=2.0,
            window=[2, None],
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile grouped_query."""
    return (*mapping_cases(), *combined_cases())
