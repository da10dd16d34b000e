"""Profile softcap: scores flattened by a hyperbolic tangent, after the scale and before everything else."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_RIGHT,
    TOP_LEFT,
    Sizes,
    attention,
    booleans,
    floats,
    profile,
)
from attnspec_authoring.recipes.attention.pairwise import pairwise_cases
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, AuthoredCase, table
from attnspec_authoring.recipes.generator import grid

softcap = profile("softcap")

BATCH = Sizes(3, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 5)
STEPS = ("output", "weights", "logsumexp", "scores", "logits")
ORDER = ("sdpa.softcap.order",)


def size_cases() -> tuple[AuthoredCase, ...]:
    """Vary the cap, from one that flattens everything to one that hardly touches."""
    case = table(softcap, sizes=SMALL)
    caps = {
        "eighth": (0.125, "A cap so small that all keys weigh almost the same"),
        "half": (0.5, "A cap of one half"),
        "two": (2.0, "A cap of two"),
        "thirty": (30.0, "A cap of thirty, as models use it"),
        "fifty": (50.0, "A cap of fifty, as models use it"),
    }
    sharp = SMALL.drawn("softcap/saturated")
    sharp["query"] = sharp["query"] * 16.0
    far = SMALL.drawn("softcap/far_saturated")
    far["query"] = far["query"] * 1024.0
    return (
        *(
            case(f"{name}", title)(
                clauses="softcap.definition",
                report="sgl-project/sglang/issues/33915" if name == "two" else None,
                drawn_as="softcap",
                softcap=cap,
            )
            for name, (cap, title) in caps.items()
        ),
        case("two_other_values", "A cap of two on other values")(softcap=2.0),
        case("off_by_zero", "A cap of zero means no cap")(drawn_as="softcap", softcap=0.0),
        case("off_by_null", "A cap of null means no cap")(clauses="softcap.off", drawn_as="softcap", softcap=None),
        softcap("off_by_zero_with_mask", "A cap of zero means no cap, beside a float mask")(
            Sizes(1, 2, 1, 3, 4, width=2), mask=floats(3, 4), softcap=0.0
        ),
        case("steps", "Scores are before, logits after the cap")(outputs=STEPS, softcap=1.5),
        case("saturated", "Scores far beyond the cap: the tangent is almost one")(
            also="weights logits", softcap=4.0, **sharp
        ),
        case("far_saturated", "Scores thousands of times the cap: exponentials of that overflow")(
            also="weights logits", softcap=0.125, **far
        ),
        case("hardly_touches", "Scores far below the cap: the logits differ from them in the last digits")(
            also="logits",
            dtypes=SINGLE_AND_DOUBLE,
            query=grid("softcap/hardly_touches/query", (1, 2, 4, 3)) * 0.0625,
            softcap=64.0,
        ),
        case("after_the_scale", "The cap comes after the scale")(
            clauses=ORDER, report="flashinfer-ai/flashinfer/issues/1193", drawn_as="softcap", softcap=1.0, scale=2.0
        ),
        case("negative_scale", "A cap under a negative scale")(drawn_as="softcap", softcap=1.0, scale=-1.0),
        softcap("one_query", "One query, capped scores")(Sizes(3, 2, 2, 1, 5), softcap=1.5, scale=1.5),
        softcap("width_8", "Capped scores of eight features under a Boolean mask")(
            Sizes(1, 2, 2, 4, 5, 8), softcap=2.0, mask=booleans(4, 5)
        ),
        case("scale_zero", "A cap under the scale zero")(softcap=1.0, scale=0.0),
    )


def order_cases() -> tuple[AuthoredCase, ...]:
    """Put caps together with what is added or excluded after them."""
    case = table(attention, clauses=ORDER)
    pair = Sizes(1, 4, 4, 3, 2, width=1)
    shapes = pair.shapes()
    zeros: dict[str, Any] = {name: np.zeros(shapes[name]) for name in ("query", "key")}
    zero_one = np.broadcast_to(np.array([0.0, 1.0]).reshape(2, 1), shapes["value"])
    tail, square = Sizes(1, 2, 1, 3, 65), Sizes(1, 2, 2, 4, 4)
    negative = tail.drawn("softcap/tail")
    bias, boolean = "softcap/bias", "softcap/boolean_mask"
    slopes = np.array([0.5, 0.125])
    return (
        case("softcap/hidden_key_is_not_capped", "Minus infinity is not capped: a hidden key has no weight")(
            pair, report="onnx/onnx/issues/7865", value=zero_one, mask=np.array([[True, False]]), softcap=2.0, **zeros
        ),
        case("softcap/bias_is_not_capped", "A bias of six is added after the cap of two")(
            pair,
            report="emmtrix/emx-onnx-cgen/pull/731",
            value=zero_one,
            mask=np.array([[0.0, 6.0]]),
            softcap=2.0,
            **zeros,
        ),
        case(bias, "A float mask on capped scores")(
            SMALL, report="microsoft/onnxruntime/pull/28379", mask=floats(2, 4, 5), softcap=1.5
        ),
        case("softcap/bias_steps", "Every step with a cap and a float mask")(
            SMALL, outputs=STEPS, mask=floats(4, 5), softcap=1.5
        ),
        case(boolean, "A Boolean mask on capped scores")(BATCH, mask=booleans(3, 1, 4, 5), softcap=0.75),
        softcap("one_query_masked", "One query, a cap, and a mask that hides keys: what is hidden stays hidden")(
            Sizes(3, 2, 2, 1, 5, 1),
            report="flashinfer-ai/flashinfer/pull/350",
            mask=np.array([[True, False, True, True, False]]),
            softcap=1.5,
        ),
        *(
            softcap(f"causal_{alignment}", f"Capped scores, causal, {alignment.replace('_', '-')}")(
                SMALL, softcap=1.5, is_causal=True, causal_alignment=alignment
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        softcap("causal_square", "Capped scores, causal, as many queries as keys")(
            Sizes(1, 2, 2, 5, 5), softcap=1.5, is_causal=True
        ),
        softcap("causal_square_of_entries", "Scores of two batch entries under a cap of one half, causal")(
            Sizes(2, 3, 3, 4, 4, 2), softcap=0.5, is_causal=True
        ),
        softcap("causal_square_saturated", "Scores far beyond the cap, causal, as many queries as keys")(
            square, query=square.drawn("softcap/causal_square_saturated")["query"] * 16.0, softcap=4.0, is_causal=True
        ),
        softcap("window", "Capped scores under a window")(SMALL, softcap=1.5, window=[1, 0], **BOTTOM),
        softcap("grouped", "Capped scores of grouped heads under a mask")(
            Sizes(1, 6, 2, 4, 5), softcap=1.5, mask=booleans(6, 4, 5)
        ),
        case("softcap/sinks", "A sink is not capped")(
            SMALL, also="weights logsumexp", softcap=0.5, sinks=np.array([3.0, -2.0])
        ),
        case("softcap/alibi", "The penalty for distance is not capped")(
            Sizes(1, 2, 2, 5, 5), softcap=0.5, alibi_slopes=slopes, is_causal=True
        ),
        softcap("past", "Capped scores of past and new keys")(
            Sizes(1, 2, 2, 4, 4, past=3), softcap=1.0, is_causal=True
        ),
        softcap("key_lengths", "A cap with keys beyond the length")(
            BATCH, clauses="softcap.definition", softcap=0.5, key_lengths=[5, 3, 1]
        ),
        softcap("tail", "Sixty-five keys, no mask, all scores negative: what fills up the last tile must not count")(
            tail,
            clauses="softcap.definition",
            report="ggml-org/llama.cpp/pull/29034",
            query=np.abs(negative["query"]) / 2.0,
            key=-np.abs(negative["key"]) / 2.0,
            softcap=2.0,
        ),
        softcap("values_wider", "Capped scores and values wider than the keys")(
            Sizes(1, 2, 2, 4, 5, 3, 6), softcap=2.0
        ),
        softcap("dead_row", "A cap makes no key of a row without keys")(
            SMALL,
            clauses=("sdpa.fully_masked_row", *ORDER),
            also="weights",
            softcap=2.0,
            mask=np.broadcast_to((np.arange(4) != 2)[:, np.newaxis], (4, 5)),
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile softcap."""
    return (*size_cases(), *order_cases(), *pairwise_cases("softcap"))
