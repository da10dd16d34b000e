"""Profile logsumexp: the natural logarithm of the softmax denominator, with which partial results are merged."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    booleans,
    floats,
    profile,
)
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, AuthoredCase, table
from attnspec_authoring.recipes.generator import grid

logsumexp = profile("logsumexp")

BATCH = Sizes(3, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 5)
BOTH = ("output", "logsumexp")
CLAUSE = ("sdpa.logsumexp",)


def value_cases() -> tuple[AuthoredCase, ...]:
    """Hold logarithms that one can say beforehand, and large ones."""
    case = table(logsumexp, sizes=SMALL, outputs=BOTH)
    pair = Sizes(1, 4, 4, 3, 2, width=1)
    shapes = pair.shapes()
    threes: dict[str, Any] = {"query": np.full(shapes["query"], 3.0), "key": np.ones(shapes["key"])}
    five = SMALL.shapes()
    drawn = SMALL.drawn("logsumexp/large")
    return (
        case("plain", "The logsumexp of drawn numbers")(clauses=CLAUSE),
        case("plain_other_values", "The logsumexp of other numbers in the same shapes")(),
        logsumexp(
            "two_equal_scores",
            "Two scores of 3: the logsumexp is 3 + ln 2, not in another base and not without the maximum",
        )(pair, clauses=CLAUSE, report="flashinfer-ai/flashinfer/issues/4485", outputs=BOTH, scale=1.0, **threes),
        case("equal_scores", "Five scores of zero: the logsumexp is ln 5")(
            clauses=CLAUSE, report="pytorch/pytorch/issues/181645", query=np.zeros(five["query"])
        ),
        logsumexp("one_key", "A single key: the logsumexp is its score")(
            Sizes(3, 2, 2, 4, 1), clauses=CLAUSE, also="logsumexp scores"
        ),
        logsumexp("five_queries", "Five queries: the logsumexp is not filled up to a tile")(
            Sizes(1, 3, 3, 5, 4), report="feifeibear/long-context-attention/issues/122", outputs=BOTH
        ),
        case("large_scores", "Scores of some hundreds, whose exponentials overflow")(
            clauses=CLAUSE, dtypes=SINGLE_AND_DOUBLE, **{**drawn, "query": drawn["query"] * 256.0}
        ),
        case("all_negative", "Scores between minus 200 and minus 700, whose exponentials vanish")(
            clauses=CLAUSE,
            dtypes=SINGLE_AND_DOUBLE,
            query=np.abs(grid("logsumexp/all_negative/query", five["query"])) * 8.0 + 12.0,
            key=-np.abs(grid("logsumexp/all_negative/key", five["key"])) - 8.0,
        ),
        case("scale", "Logsumexp: a stated scale")(scale=0.25),
        case("scale_negative", "Logsumexp: a negative scale")(scale=-1.0),
    )


def merge_cases() -> tuple[AuthoredCase, ...]:
    """Cut eight keys in halves: whoever merges their results by the logsumexp gets that of the whole."""
    whole = Sizes(1, 2, 2, 3, 8)
    drawn = whole.drawn("logsumexp/whole")
    halves = {"first_half": slice(0, 4), "second_half": slice(4, 8)}
    return (
        logsumexp("whole", "Eight keys at once")(
            whole, clauses=CLAUSE, report="vllm-project/vllm/pull/28840", outputs=BOTH, **drawn
        ),
        *(
            logsumexp(f"{name}", f"The {name.replace('_', ' ')} of the keys of logsumexp/whole")(
                whole,
                clauses=CLAUSE,
                outputs=BOTH,
                **{**drawn, "key": drawn["key"][:, :, half], "value": drawn["value"][:, :, half]},
            )
            for name, half in halves.items()
        ),
    )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put the logsumexp together with what adds to logits or excludes keys."""
    case = table(attention, outputs=BOTH)
    added, boolean = "logsumexp/float_mask", "logsumexp/boolean_mask"
    square = Sizes(1, 2, 2, 5, 5)
    return (
        case("logsumexp/float_mask_of_ones", "A float mask of ones raises the logsumexp by one")(
            SMALL, clauses=CLAUSE, drawn_as="logsumexp/plain", mask=np.ones((4, 5))
        ),
        case(added, "Logsumexp: a float mask")(BATCH, mask=floats(3, 1, 4, 5)),
        case(boolean, "Logsumexp: a Boolean mask")(SMALL, mask=booleans(2, 4, 5)),
        case("logsumexp/dead_row", "Logsumexp: a row without keys: minus infinity")(
            SMALL,
            clauses="logsumexp.fully_masked_row",
            mask=np.broadcast_to((np.arange(4) != 3)[:, np.newaxis], (4, 5)),
        ),
        *(
            case(f"logsumexp/causal_{alignment}", f"Logsumexp: causal, {alignment.replace('_', '-')}")(
                SMALL,
                report="tinygrad/tinygrad/pull/2425" if alignment == TOP_LEFT else None,
                is_causal=True,
                causal_alignment=alignment,
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        case(
            "logsumexp/causal_dead_rows",
            "Logsumexp: causal with more queries than keys: the first rows are minus infinity",
        )(Sizes(1, 2, 2, 6, 4), clauses="logsumexp.fully_masked_row", **BOTTOM_CAUSAL),
        case("logsumexp/window", "Logsumexp: a window")(square, window=[1, 1], revision=2),
        case("logsumexp/softcap", "Logsumexp: capped scores")(SMALL, softcap=1.5),
        case("logsumexp/sinks", "Logsumexp: the sink counts")(
            SMALL, clauses="sinks.logsumexp", report="pytorch/torchtitan/pull/2211", sinks=[1.5, -0.5]
        ),
        case("logsumexp/sinks_dead_row", "Logsumexp: a row without keys: the sink itself")(
            SMALL,
            clauses="sinks.logsumexp sinks.fully_masked_row",
            mask=np.broadcast_to((np.arange(4) != 0)[:, np.newaxis], (4, 5)),
            sinks=[1.5, -0.5],
        ),
        case("logsumexp/grouped", "Logsumexp: six query heads over two shared heads")(
            Sizes(1, 6, 2, 4, 5), report="Dao-AILab/flash-attention/issues/648"
        ),
        case(
            "logsumexp/one_query_grouped", "Logsumexp of one query, six query heads over three key heads, with a scale"
        )(Sizes(2, 6, 3, 1, 4, 1), report="vllm-project/flash-attention/pull/34", scale=0.75),
        case("logsumexp/past", "Logsumexp: past and new keys")(Sizes(1, 2, 2, 4, 4, past=3), is_causal=True),
        case("logsumexp/key_lengths", "Logsumexp: keys beyond the length do not count")(BATCH, key_lengths=[5, 1, 3]),
        case("logsumexp/alibi_causal", "Logsumexp: slopes, causal")(square, is_causal=True, alibi_slopes=[0.5, 0.125]),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile logsumexp."""
    return (*value_cases(), *merge_cases(), *combined_cases())
