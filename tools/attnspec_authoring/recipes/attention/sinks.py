"""Profile sinks: one more logit for each query head, which only joins the denominator."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    HIDDEN,
    TOP,
    TOP_LEFT,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    coarse,
    floats,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import AuthoredCase, table

sinks = profile("sinks")

BATCH = Sizes(3, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 5)
STEPS = ("output", "weights", "logsumexp")
SINKS = np.array([0.5, -1.25])


def size_cases() -> tuple[AuthoredCase, ...]:
    """Vary the sinks, up to sizes at which an exponential would overflow."""
    case = table(sinks, sizes=SMALL, outputs=STEPS)
    one = Sizes(3, 2, 2, 1, 1, width=1)
    shapes = one.shapes()
    zeros: dict[str, Any] = {name: np.zeros(shapes[name]) for name in ("query", "key")}
    return (
        sinks("plain", "A sink for each of two heads")(BATCH, clauses="sinks.denominator", sinks=SINKS),
        sinks("plain_other_values", "Sinks, the same shapes with other values")(SMALL, sinks=[2.0, 0.25]),
        case("steps", "Weights that sum to less than one, and a logsumexp that counts the sink")(sinks=SINKS),
        sinks("halves_a_single_key", "One key with the score 0 and a sink of 0: half of the value comes out")(
            one, outputs=STEPS, sinks=[0.0, 0.0], value=np.full(shapes["value"], 2.0), **zeros
        ),
        sinks("zero", "A sink of zero still counts")(SMALL, clauses="sinks.denominator", sinks=[0.0, 0.0]),
        case("hundred", "A sink of 100 leaves almost nothing, and nothing overflows")(
            report="Dao-AILab/flash-attention/pull/2752", sinks=[100.0, 96.0]
        ),
        sinks("twelve_above", "Sinks of twelve over keys with large values: exp(12) lies beyond half precision")(
            Sizes(3, 2, 2, 1, 4, 1),
            report="sgl-project/sgl-kernel-npu/pull/216",
            query=np.zeros((3, 2, 1, 1)),
            key=np.zeros((3, 2, 4, 1)),
            value=np.full((3, 2, 4, 1), 1024.0),
            sinks=[12.0, 12.5],
        ),
        case("minus_hundred", "A sink of -100 takes almost nothing")(sinks=[-100.0, -96.0]),
        sinks("between_the_logits", "A sink above some and below other logits")(
            SMALL, also="logsumexp", sinks=[1.0, -0.5]
        ),
    )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put sinks together with everything that touches logits, but not sinks."""
    case = table(sinks, outputs=STEPS, clauses="sinks.fully_masked_row")
    added, boolean = "sinks/float_mask", "sinks/boolean_mask"
    everything, one_query = "sinks/one_query_with_everything", Sizes(2, 6, 2, 1, 4, 1, 2)
    return (
        sinks("not_scaled", "The scale does not touch the sink")(
            SMALL, clauses="sinks.denominator", outputs=STEPS, scale=0.125, sinks=[3.0, -2.0]
        ),
        sinks("scale_negative", "A sink under a negative scale")(SMALL, scale=-0.5, sinks=SINKS),
        sinks("scale_zero", "A sink under the scale zero")(SMALL, outputs=STEPS, scale=0.0, sinks=SINKS),
        attention(added, "The float mask does not touch the sink")(BATCH, mask=floats(3, 1, 4, 5), sinks=SINKS),
        attention(boolean, "A Boolean mask never hides the sink")(SMALL, mask=booleans(2, 4, 5), sinks=SINKS),
        *(
            sinks(f"causal_{alignment}", f"Sinks, causal, {alignment.replace('_', '-')}")(
                SMALL, also="logsumexp", is_causal=True, causal_alignment=alignment, sinks=SINKS
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        sinks("window", "A window does not hide the sink")(
            Sizes(1, 2, 2, 5, 5), report="vllm-project/vllm/pull/49815", window=[1, 0], sinks=SINKS
        ),
        case("dead_row", "With a sink a row without keys gives zeros, and its logsumexp is the sink")(
            SMALL, mask=np.broadcast_to((np.arange(4) != 1)[:, np.newaxis], (4, 5)), sinks=[0.5, 100.0]
        ),
        case("dead_rows_before_the_keys", "Causality leaves the first queries nothing but the sink")(
            Sizes(1, 2, 2, 6, 4), **BOTTOM_CAUSAL, sinks=SINKS
        ),
        case("no_keys", "No key at all, but a sink")(
            Sizes(3, 2, 2, 4, 0), report="Dao-AILab/flash-attention/pull/2752", sinks=[0.5, -1.25], revision=2
        ),
        sinks("past", "Sinks over past and new keys")(Sizes(1, 2, 2, 4, 4, past=3), is_causal=True, sinks=SINKS),
        sinks("key_lengths", "Sinks with keys beyond the length")(
            BATCH, also="logsumexp", key_lengths=[5, 2, 3], sinks=SINKS
        ),
        sinks("both_lengths", "Sinks with sequences of several lengths, causal from the last query")(
            BATCH, also="logsumexp", key_lengths=[5, 2, 3], query_lengths=[4, 1, 3], **BOTTOM_CAUSAL, sinks=SINKS
        ),
        sinks("grouped_steps", "Six sinks for six query heads over two shared heads")(
            Sizes(1, 6, 2, 3, 5),
            clauses="sinks.denominator heads.grouped",
            outputs=STEPS,
            sinks=[1.0, -1.0, 0.0, 2.0, 0.5, -0.5],
        ),
        sinks("grouped_window", "Six sinks for six query heads over two shared heads under a window and a mask")(
            Sizes(1, 6, 2, 4, 4),
            clauses="sinks.denominator heads.grouped",
            window=[2, 1],
            mask=boolean_mask("sinks/grouped_window", (4, 4)) | np.eye(4, dtype=np.bool_),
            sinks=[1.0, -1.0, 0.0, 2.0, 0.5, -0.5],
        ),
        sinks("values_wider", "Sinks and values wider than the keys")(Sizes(1, 2, 2, 4, 5, 3, 6), sinks=SINKS),
        sinks("rising", "Logits that rise from key to key past the sink")(
            Sizes(1, 2, 2, 3, 33, 1),
            report="ROCm/fleet-chiplet-megakernel/pull/8",
            also="logsumexp",
            query=np.ones((1, 2, 3, 1)),
            key=np.broadcast_to((np.arange(33.0) / 2.0)[:, np.newaxis], (1, 2, 33, 1)),
            sinks=[15.0, 8.0],
        ),
        attention(everything, "One query with a cap, a float mask, distances ahead, sinks, and an entry without keys")(
            one_query,
            report="ROCm/rocm-libraries/pull/12229",
            also="logsumexp",
            **coarse(everything, one_query),
            mask=np.array([[0.0, 1.0, HIDDEN, -0.5]]),
            key_lengths=[4, 0],
            sinks=[0.5, -0.5, 1.0, 0.0, 0.25, -1.0],
            alibi_slopes=[0.25, 0.5, 0.125, 0.0625, 1.0, 0.75],
            **TOP,
            scale=-0.75,
            softcap=2.0,
        ),
    )


def of_causal_attention() -> tuple[AuthoredCase, ...]:
    """Put sinks beside causality over as many queries as keys, and nothing else: that is all that some models take."""
    case = table(sinks, clauses="sinks.denominator", is_causal=True)
    return (
        case("causal_square", "Sinks, causal, as many queries as keys")(Sizes(1, 2, 2, 5, 5), sinks=SINKS),
        case("causal_square_far_from_the_logits", "Sinks far from the logits, causal, in two batch entries")(
            Sizes(2, 3, 3, 4, 4, 2), sinks=[6.0, 9.5, -2.0]
        ),
        case("causal_square_grouped", "Six sinks for six query heads over two shared heads, causal")(
            Sizes(1, 6, 2, 4, 4, 2), sinks=[1.0, -1.0, 0.0, 2.0, 0.5, -0.5]
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile sinks."""
    return (*size_cases(), *combined_cases(), *of_causal_attention(), *pairwise_cases("sinks"))
