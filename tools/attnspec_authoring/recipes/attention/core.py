"""Profile core: scores, scale, softmax over keys and weighted values, without anything optional."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import Sizes, probe, probe_sizes, profile
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, AuthoredCase, table
from attnspec_authoring.recipes.generator import grid

core = profile("core")

PLAIN = Sizes(3, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 5)
BASE = ("sdpa.scores", "sdpa.scale.default", "sdpa.softmax.keys", "sdpa.output")


def scale_cases() -> tuple[AuthoredCase, ...]:
    """State the scale: only the scale differs between these cases, so that one kept from another call shows."""
    stated = (
        ("half", 0.5, "pytorch/pytorch/pull/184122"),
        ("one", 1.0, None),
        ("two", 2.0, None),
        ("sixteenth", 0.0625, None),
        ("near_default", 0.578125, None),
        ("zero", 0.0, None),
        ("negative", -0.5, None),
        ("minus_one", -1.0, None),
    )
    explained = {
        "zero": "A scale of zero is literal: every key weighs the same",
        "near_default": "A scale that differs from the default 0.57735 in the third digit",
        "negative": "A negative scale turns the order of the keys round",
        "minus_one": "A scale of minus one",
    }
    cases = [
        core(f"scale_{name}", explained.get(name, f"Inputs of core/plain_weights with the scale {value:g}"))(
            SMALL, clauses="scale.explicit", report=report, drawn_as="core/plain_weights", scale=value
        )
        for name, value, report in stated
    ]
    return (
        *cases,
        core("scale_of_heads", "Seven heads of width 3: the scale comes from the width, not from the number of heads")(
            Sizes(1, 7, 7, 2, 4), clauses="scale.default", report="tenstorrent/tt-metal/pull/56789"
        ),
        core("scale_steps", "Scores and logits with a stated scale and without a mask are the same")(
            SMALL, also="scores logits", scale=0.75
        ),
        core("scale_negative_weights", "Weights and logsumexp under a negative scale")(
            SMALL, also="weights logsumexp", scale=-0.75
        ),
    )


def width_cases() -> tuple[AuthoredCase, ...]:
    """Vary the width, for the default scale and for kernels that fill up to a fixed width."""
    widths = {
        1: "One feature: the default scale is 1",
        2: "Two features: the default scale is irrational",
        4: "Four features: the default scale is exactly one half",
        5: "Five features",
        7: "Seven features",
        8: "Eight features: the default scale is irrational",
        16: "Sixteen features: the default scale is exactly one quarter",
        33: "Thirty-three features, one more than a tile of 32",
    }
    # One large product and 132 small ones, each lost where the sum is kept in half precision: the first head's in
    # float16, the second's in bfloat16.
    small = np.arange(133) > 0
    queries = np.where(small, np.array([[0.125], [1.75]]), 8.0)
    keys = np.where(small, np.array([[0.125], [0.0]]), 8.0)
    cases = [
        core(f"width_{width}", title)(
            Sizes(1, 2, 1, 3, 4, width, 3)
            if width > 16
            else Sizes(1, 2, 2, 3, 4, width)
            if width > 8
            else Sizes(1, 2, 2, 4, 5, width),
            clauses="scale.default scores",
            report="tenstorrent/tt-metal/issues/20715" if width == 33 else None,
        )
        for width, title in widths.items()
    ]
    return (
        *cases,
        core("width_72", "Seventy-two features: more than a tile of 64")(
            Sizes(1, 2, 1, 3, 4, 72, 2), clauses="scores scale.default", report="triton-lang/triton/issues/621"
        ),
        core("width_133", "133 features: one large product and many small ones, which decide")(
            Sizes(1, 2, 1, 1, 2, 133, 1),
            report="pytorch/pytorch/issues/119131",
            query=queries.reshape(1, 2, 1, 133),
            key=keys.reshape(1, 1, 2, 133),
            scale=1.0,
            revision=2,
        ),
    )


def value_width_cases() -> tuple[AuthoredCase, ...]:
    """Give the values another width than queries and keys."""
    widths = ((3, 5), (5, 2), (1, 4), (4, 1), (8, 11), (2, 9))
    reports = {(5, 2): "pytorch/pytorch/issues/176767", (3, 5): "lucidrains/flash-attention-jax/pull/15"}
    numbers = np.arange(133, dtype=np.float64) % 16
    return (
        *(
            core(
                f"value_width_{width}_{value_width}",
                f"Queries and keys of width {width}, values of width {value_width}",
            )(
                Sizes(1, 2, 2, 4, 6, width, value_width),
                clauses="output scale.default",
                report=reports.get((width, value_width)),
            )
            for width, value_width in widths
        ),
        core("value_width_1_133", "Values of 133 features, more than a tile of 128")(
            Sizes(1, 1, 1, 1, 2, 1, 133),
            report="mlc-ai/mlc-llm/pull/1889",
            query=np.zeros((1, 1, 1, 1)),
            key=np.zeros((1, 1, 2, 1)),
            value=np.stack([numbers, 16.0 - numbers]).reshape(1, 1, 2, 133) * np.array([1.0, 3.0])[:, np.newaxis],
        ),
    )


def length_cases() -> tuple[AuthoredCase, ...]:
    """Vary numbers of queries, keys, heads and batch entries, down to none."""
    one_key = Sizes(3, 2, 2, 4, 1)
    return (
        core("one_key", "A single key: the output is its value")(one_key, clauses="output"),
        core("one_query", "A single query")(
            Sizes(3, 2, 2, 1, 5), clauses="output", report="triton-lang/triton/issues/2059"
        ),
        core("more_queries_than_keys", "Seven queries and four keys")(
            Sizes(1, 2, 2, 7, 4), clauses="scores softmax.keys"
        ),
        core("many_batch_entries", "Five batch entries of one query")(Sizes(5, 2, 2, 1, 4), clauses="scores"),
        core("many_heads", "Five heads")(Sizes(1, 5, 5, 3, 4), clauses="scores"),
        core("one_head", "One head")(Sizes(3, 1, 1, 4, 5), clauses="scores"),
        core("self_attention", "As many queries as keys, query, key and value being the same numbers")(
            Sizes(1, 2, 2, 5, 5),
            clauses=BASE,
            key=grid("core/self_attention/query", (1, 2, 5, 3)),
            value=grid("core/self_attention/query", (1, 2, 5, 3)),
        ),
        core("no_batch_entries", "No batch entry at all")(Sizes(0, 2, 2, 4, 5), clauses="output precision.dtype"),
        core("no_queries", "No query at all")(Sizes(3, 2, 2, 0, 5), clauses="output"),
    )


def finer(factor: float) -> dict[str, Any]:
    """Multiply drawn tensors by a factor that gives them more bits."""
    return {name: tensor * factor for name, tensor in SMALL.drawn("core/finer").items()}


def value_cases() -> tuple[AuthoredCase, ...]:
    """Hold inputs of which one can say beforehand what comes out."""
    case = table(core, sizes=SMALL)
    sizes = Sizes(1, 2, 2, 4, 6)
    drawn = sizes.drawn("core/order_of_keys")
    order = [3, 0, 5, 1, 4, 2]
    moved = {name: drawn[name][:, :, order] for name in ("key", "value")}
    shapes = SMALL.shapes()
    uniform = probe_sizes(1, 2, 2, 4, 5)
    return (
        core("uniform", "Zero queries and keys: the output is the mean of the values")(
            uniform, clauses="softmax.keys weights", **probe(uniform)
        ),
        core("order_of_keys", "Six keys, in the order drawn")(sizes, clauses="output"),
        core("order_of_keys_changed", "The same six keys and values in another order: the output is the same")(
            sizes, clauses="output", **{**drawn, **moved}
        ),
        case("values_of_one", "All values are one: whatever the weights, the output is one")(
            clauses="weights", value=np.ones(shapes["value"])
        ),
        case("values_of_zero", "All values are zero")(clauses="output", value=np.zeros(shapes["value"])),
        case("equal_keys", "All keys are equal: the output is the mean of the values")(
            clauses="softmax.keys", key=np.broadcast_to(grid("core/equal_keys/one", (1, 2, 1, 3)), shapes["key"])
        ),
        case("zero_queries", "Zero queries against keys of all sizes")(
            clauses="scores", query=np.zeros(shapes["query"])
        ),
        case("negative_zeros", "Queries and values with negative zeros")(
            clauses="scores",
            query=np.full(shapes["query"], -0.0),
            value=np.where(grid("core/negative_zeros/sign", shapes["value"]) < 0, -0.0, 1.5),
        ),
        case("finer_than_half", "Inputs of more bits than half precision holds")(
            clauses=BASE, dtypes=SINGLE_AND_DOUBLE, **finer(1.0 + 2.0**-10)
        ),
        case("finer_than_single", "Inputs of more bits than single precision holds")(
            clauses=BASE, dtypes=("float64",), **finer(1.0 + 2.0**-30)
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile core."""
    return (
        # Hold equal shapes with unequal values, and the steps between input and output.
        core("plain", "Three batch entries of two heads, four queries and five keys")(
            PLAIN,
            clauses=BASE,
            report="tinygrad/tinygrad/pull/5100",
            changed_argument=ChangedArgument("query", reversed=True),
            revision=2,
        ),
        core("plain_other_values", "The shapes of core/plain with other values")(
            PLAIN,
            clauses=BASE,
            report="mlc-ai/mlc-llm/pull/3426",
            changed_argument=ChangedArgument("key", reversed=True),
            revision=2,
        ),
        core("plain_weights", "Outputs and weights of a plain case")(SMALL, clauses=BASE, also="weights"),
        core("plain_steps", "Every step of a plain case: scores, logits, logsumexp, weights")(
            SMALL, clauses=(*BASE, "sdpa.precision.dtype"), also="weights logsumexp scores logits"
        ),
        core("plain_steps_other_values", "Every step of the same shapes with other values")(
            SMALL, clauses=BASE, also="weights logsumexp scores logits"
        ),
        core("asked_again", "The inputs of core/plain_weights once more, as another call in the same process")(
            SMALL, clauses=("sdpa.repeatable", *BASE), drawn_as="core/plain_weights"
        ),
        *scale_cases(),
        *width_cases(),
        *value_width_cases(),
        *length_cases(),
        *value_cases(),
    )
