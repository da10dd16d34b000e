"""Each feature of the forward pass by itself, caps of all sizes, features that meet, and results handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    BOTTOM_RIGHT,
    HIDDEN,
    TOP,
    TOP_LEFT,
    Sizes,
    boolean_mask,
    float_mask,
)
from attnspec_authoring.recipes.attention.backward.gradients import (
    BACKWARD,
    BATCH,
    GROUPED,
    PLAIN,
    SQUARE,
    STEPS,
    STORED,
    drawn,
    gradients,
)
from attnspec_authoring.recipes.attention.backward.nonfinite import spoilt
from attnspec_authoring.recipes.attention.backward.rejects import of_shape, refused
from attnspec_authoring.recipes.attention.pairwise import LEVELS, ROWS, arguments_of, sizes_of
from attnspec_authoring.recipes.authoring import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

MORE_QUERIES = Sizes(1, 2, 2, 6, 4, 3, 2)
SINKS = np.array([0.5, -1.25])
SLOPES = np.array([0.25, 1.5])
SIX_SINKS = np.array([0.5, -1.0, 2.0, 0.0, 1.5, -0.25])
SIX_SLOPES = np.array([0.5, 0.125, 0.25, 1.0, 0.0625, 0.75])


def plain_cases() -> tuple[AuthoredCase, ...]:
    """Nothing but queries, keys and values, and what the gradients of the results are."""
    case = table(gradients, sizes=PLAIN)
    zeros: dict[str, Any] = {"grad_output": np.zeros((1, 2, 4, 2))}
    return (
        case("plain", "Gradients of two heads")(),
        case("plain_other_values", "Gradients of the same shapes with other values")(),
        gradients("batch", "Gradients of three batch entries")(BATCH),
        case("steps", "Delta and the gradients of the scores beside those that are owed")(outputs=STEPS),
        gradients("square", "As many queries as keys")(SQUARE),
        case("grad_logsumexp", "A gradient of the logsumexp")(outputs=STEPS, with_grad_logsumexp=True),
        case("grad_logsumexp_alone", "A gradient of the logsumexp alone")(with_grad_logsumexp=True, **zeros),
        case("no_gradient", "Nothing depends on the output, so nothing on the inputs")(**zeros),
        case("gradient_of_ones", "The gradient of a sum: the same number everywhere")(
            grad_output=np.ones((1, 2, 4, 2))
        ),
        case("one_gradient", "One element of the output alone has a gradient")(
            outputs=STEPS, grad_output=np.where(np.arange(16) == 5, 1.0, 0.0).reshape(1, 2, 4, 2)
        ),
        case("values_of_one", "All values are one: the scores have no gradient")(value=np.ones((1, 2, 5, 2))),
    )


def score_cases() -> tuple[AuthoredCase, ...]:
    """Vary the scale and the softcap."""
    large: dict[str, Any] = {"query": np.round(8.0 * drawn("backward/softcap_saturated", PLAIN)["query"])}
    return (
        gradients("scale", "A stated scale")(PLAIN, scale=0.75),
        gradients("scale_zero", "A scale of 0: queries and keys have no gradient")(PLAIN, outputs=STEPS, scale=0.0),
        gradients("scale_negative", "A scale below 0")(PLAIN, scale=-0.5),
        gradients("scale_steps", "The gradients of the scores are not scaled")(PLAIN, outputs=STEPS, scale=0.125),
        gradients("softcap", "A softcap")(PLAIN, outputs=STEPS, softcap=1.5),
        gradients("softcap_one", "A softcap of 1")(PLAIN, softcap=1.0),
        gradients("softcap_large", "A softcap that hardly bends")(PLAIN, softcap=32.0),
        gradients("softcap_saturated", "Scores far beyond the softcap")(PLAIN, outputs=STEPS, softcap=2.0, **large),
        gradients("softcap_off", "A softcap of 0 changes nothing")(PLAIN, softcap=0.0),
        gradients("softcap_off_grouped", "A softcap of 0 and shared heads")(GROUPED, softcap=0.0),
        gradients("softcap_scale", "A softcap and a stated scale")(PLAIN, softcap=0.5, scale=0.25),
        gradients("softcap_scale_negative", "A softcap and a scale below 0")(GROUPED, softcap=1.5, scale=-0.75),
    )


def head_cases() -> tuple[AuthoredCase, ...]:
    """Query heads that share key and value heads."""
    shared = Sizes(1, 3, 1, 4, 5, 3, 2)
    return (
        gradients("grouped", "Six query heads over two")(GROUPED),
        gradients("grouped_other_values", "Six query heads over two, with other values")(GROUPED),
        gradients("grouped_steps", "Six query heads over two, step by step")(GROUPED, outputs=STEPS),
        gradients("grouped_batch", "Six query heads over two, in three batch entries")(Sizes(3, 6, 2, 4, 5, 1, 1)),
        gradients("one_key_head", "One key head for three query heads")(shared, clauses="heads.grouped"),
        gradients("pairs_of_heads", "Six query heads over three: the groups are smaller than their number")(
            Sizes(1, 6, 3, 4, 5, 2, 3), report="XunhaoLai/native-sparse-attention-triton/issues/27"
        ),
        gradients("twelve_heads", "Twelve query heads over four")(Sizes(1, 12, 4, 3, 5, 2, 3)),
        gradients("nine_heads", "Nine heads")(Sizes(1, 9, 9, 3, 4, 2, 1)),
        gradients("batch_equals_heads", "As many batch entries as heads")(Sizes(2, 2, 2, 3, 4, 2, 3)),
        gradients("heads_without_gradient", "One query head of each group alone has a gradient")(
            GROUPED,
            report="fla-org/flash-linear-attention/issues/1115",
            grad_output=drawn("backward/heads_without_gradient", GROUPED)["grad_output"]
            * (np.arange(6) % 3 == 1).reshape(1, 6, 1, 1),
        ),
    )


def position_cases() -> tuple[AuthoredCase, ...]:
    """Causality and windows, with fewer and with more queries than keys."""
    few, many, open_left = PLAIN, MORE_QUERIES, [None, 0]
    causal: dict[str, Any] = {"is_causal": True}
    windows: dict[str, list[int | None]] = {
        "left": [1, None],
        "right": [None, 1],
        "both": [2, 1],
        "own": [0, 0],
        "open": [None, None],
        "causal": open_left,
    }
    return (
        gradients("causal_square", "Causality")(SQUARE, outputs=STEPS, **causal),
        gradients("causal_fewer_top", "Causality, fewer queries than keys, top-left")(few, **TOP, **causal),
        gradients("causal_fewer_bottom", "Causality, fewer queries than keys, bottom-right")(few, **BOTTOM, **causal),
        gradients("causal_more_top", "Causality, more queries than keys, top-left")(many, **TOP, **causal),
        gradients("causal_more_bottom", "Causality, more queries than keys, bottom-right: two queries have no key")(
            many, **BOTTOM, **causal
        ),
        gradients("causal_grouped", "Causality and shared heads")(Sizes(1, 6, 2, 5, 5, 3, 2), **causal),
        *(gradients(f"window_{name}", f"A window: {name}")(SQUARE, window=window) for name, window in windows.items()),
        *(
            gradients(f"window_{alignment}", f"A window, {alignment}")(few, window=[1, 1], causal_alignment=alignment)
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        gradients("window_and_causal", "A window and causality")(SQUARE, window=[1, 1], **causal),
        gradients("window_and_causal_bottom", "A window and causality, bottom-right")(
            Sizes(1, 6, 2, 4, 5, 3, 2), window=[1, None], **BOTTOM, **causal
        ),
    )


def hidden_cases() -> tuple[AuthoredCase, ...]:
    """Excluded keys hold NaN, and so do their scores, of which the derivative of the cap is taken."""
    third = (np.arange(5) == 2)[:, np.newaxis]
    beyond = np.arange(5).reshape(1, 1, 5, 1) >= np.array([5, 2, 3]).reshape(3, 1, 1, 1)
    both = ("key", "value")
    return (
        gradients("hidden_nan_softcap", "A Boolean mask hides NaN in a key and its value from a softcap")(
            PLAIN,
            mask=np.arange(5).reshape(1, 5) != 2,
            softcap=1.5,
            **spoilt("hidden_nan_softcap", PLAIN, both, third, np.nan),
        ),
        gradients("beyond_nan_softcap", "Keys and values beyond the key lengths hold NaN, beside a softcap")(
            BATCH, key_lengths=[5, 2, 3], softcap=2.0, **spoilt("beyond_nan_softcap", BATCH, both, beyond, np.nan)
        ),
    )


def range_cases() -> tuple[AuthoredCase, ...]:
    """Scores beyond half precision, which a cap brings back, so that its derivative is not 0."""
    # With one key the weight is 1, however the score is rounded, and the gradient of the logit that of the logsumexp.
    one_key = Sizes(1, 1, 1, 2, 1, 2, 1)
    return (
        gradients("scores_beyond_float16_softcap", "Scores lie beyond half precision, and a softcap brings them back")(
            one_key,
            clauses="precision.accumulation",
            outputs=STEPS,
            softcap=2.0**17,
            scale=1.0,
            query=np.array([[192.0, 160.0], [-224.0, -144.0]]).reshape(1, 1, 2, 2),
            key=np.array([256.0, 224.0]).reshape(1, 1, 1, 2),
            grad_logsumexp=np.array([1.5, -1.25]).reshape(1, 1, 2),
        ),
    )


def refusals() -> tuple[AuthoredCase, ...]:
    """Give one number of `grad_logsumexp` for many, which would repeat itself."""
    rows = (
        ("entries", "One gradient of the logsumexp for three batch entries", (1, 1, 4)),
        ("queries", "One gradient of the logsumexp for four queries", (3, 1, 1)),
    )
    return tuple(
        refused(f"one_grad_logsumexp_for_all_{what}", title)(
            "gradient_shape",
            "twin_plain",
            f"The grad_logsumexp has the shape {shape}.",
            {"grad_logsumexp": of_shape(f"one_grad_logsumexp_for_all_{what}", *shape)},
        )
        for what, title, shape in rows
    )


KEPT: tuple[tuple[str, ...], ...] = (STORED, (), ("logsumexp",), STORED, ("output",))
"""What is given of the forward pass, by the number of the row."""


def case_of(number: int, levels: Mapping[str, str]) -> AuthoredCase:
    """Make the case of a row: a past becomes lengths of the queries, a logsumexp its gradient."""
    name = f"meeting_{number:02}"
    sizes = _smaller(sizes_of({**levels, "cache": "key_lengths" if levels["cache"] == "past" else levels["cache"]}))
    arguments: dict[str, Any] = arguments_of({**levels, "cache": _without_past(levels)}, sizes, f"backward/{name}")
    if levels["cache"] == "past":
        arguments["query_lengths"] = np.array([sizes.queries - 1, sizes.queries, 1][: sizes.batch])
    inputs = {tensor: arguments[tensor] for tensor in BACKWARD.optional_inputs if tensor in arguments}
    if depends_on_alignment({**drawn(name, sizes), **inputs}, arguments):
        by_number = BOTTOM_RIGHT if number % 2 else TOP_LEFT
        arguments["causal_alignment"] = by_number if levels["causal"] == "off" else levels["causal"]
    derived = KEPT[number % len(KEPT)]
    usual = {"off", "none", "default", "equal"}
    named = [f"{feature} {level}".replace("_", " ") for feature, level in levels.items() if level not in usual]
    named = [part.replace("cache past", "query lengths").replace("logsumexp on", "grad logsumexp") for part in named]
    return gradients(name, f"Features that meet: {', '.join([*named, *(f'given {given}' for given in derived)])}")(
        sizes, derived=derived, with_grad_logsumexp=levels["logsumexp"] == "on", **arguments
    )


def _without_past(levels: Mapping[str, str]) -> str:
    return "none" if levels["cache"] == "past" else levels["cache"]


def _smaller(sizes: Sizes) -> Sizes:
    """Return sizes of fewer features and keys: a gradient takes as much room as what it belongs to."""
    return Sizes(
        sizes.batch,
        sizes.heads,
        sizes.shared,
        sizes.queries,
        min(sizes.keys, 6),
        2,
        1 if sizes.value_width is None else 3,
    )


SIZES = Sizes(3, 2, 1, 4, 5, 1, 1)


def feature_cases() -> tuple[AuthoredCase, ...]:
    """Both beside each feature."""
    dead = np.where((np.arange(4) == 1)[:, np.newaxis], HIDDEN, np.zeros((4, 5)))
    beside: tuple[tuple[str, str, Sizes, dict[str, Any]], ...] = (
        ("scale_zero", "a scale of 0", PLAIN, {"scale": 0.0}),
        ("softcap", "a softcap", PLAIN, {"softcap": 1.5}),
        ("grouped", "shared heads", GROUPED, {}),
        ("causal", "causality", SQUARE, {"is_causal": True}),
        ("window", "a window", SQUARE, {"window": [1, 0]}),
        ("boolean_mask", "a Boolean mask", SIZES, {"mask": boolean_mask("backward/stored_boolean", (3, 1, 4, 5))}),
        ("float_mask", "a float mask", SIZES, {"mask": float_mask("backward/stored_float", (2, 4, 5))}),
        ("key_lengths", "key lengths", BATCH, {"key_lengths": [5, 2, 3]}),
        ("sinks", "sinks", BATCH, {"sinks": SINKS}),
        ("alibi", "biases by distance", SQUARE, {"alibi_slopes": [0.25, 1.5]}),
        ("alibi_causal", "biases by distance and causality", SQUARE, {"alibi_slopes": [0.25, 1.5], "is_causal": True}),
        ("dead_row", "a query without keys", PLAIN, {"mask": dead}),
        ("dead_row_sinks", "a query without keys but with a sink", PLAIN, {"mask": dead, "sinks": SINKS}),
        (
            "causal_lengths_bottom",
            "causality and both lengths, bottom-right",
            BATCH,
            {"is_causal": True, "causal_alignment": BOTTOM_RIGHT, "key_lengths": [5, 2, 3], "query_lengths": [4, 1, 3]},
        ),
    )
    return tuple(
        gradients(f"stored_{name}", f"Output and logsumexp are given, beside {what}")(
            sizes, derived=STORED, **arguments
        )
        for name, what, sizes, arguments in beside
    )


def part_cases() -> tuple[AuthoredCase, ...]:
    """One of the two, and both beside a gradient of the logsumexp."""
    single = ("float64", "float32")
    return (
        gradients("stored", "Output and logsumexp of the forward pass are given")(PLAIN, derived=STORED, outputs=STEPS),
        gradients("stored_output_wider_values", "The output alone is given, and values are wider than keys")(
            Sizes(1, 2, 1, 3, 4, 2, 5), derived=("output",)
        ),
        gradients("stored_output_narrower_values", "The output alone is given, and values are narrower than keys")(
            Sizes(1, 2, 1, 3, 4, 5, 3), derived=("output",)
        ),
        gradients("stored_output", "The output alone is given")(PLAIN, derived=("output",)),
        gradients("stored_logsumexp", "The logsumexp alone is given")(PLAIN, derived=("logsumexp",)),
        gradients("stored_logsumexp_sinks", "The logsumexp alone is given, beside sinks")(
            PLAIN, derived=("logsumexp",), sinks=SINKS
        ),
        gradients("stored_grad_logsumexp", "Output, logsumexp and its gradient are given")(
            PLAIN, derived=STORED, outputs=STEPS, with_grad_logsumexp=True
        ),
        gradients("stored_grad_logsumexp_sinks", "Output, logsumexp and its gradient are given, beside sinks")(
            BATCH, derived=STORED, sinks=SINKS, with_grad_logsumexp=True
        ),
        gradients("stored_far_from_zero", "The logsumexp that is given is large")(
            PLAIN, dtypes=single, derived=STORED, mask=np.full((1, 5), 4096.0)
        ),
        gradients("stored_far_below_zero", "The logsumexp that is given lies far below zero")(
            PLAIN, dtypes=single, derived=STORED, mask=np.full((1, 5), -4096.0)
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Return all of them.
        *plain_cases(),
        *score_cases(),
        *head_cases(),
        *position_cases(),
        # Sinks, and biases by distance.
        gradients("sinks", "A sink for each of two heads")(BATCH, sinks=SINKS),
        gradients("sinks_steps", "Sinks, step by step")(PLAIN, sinks=SINKS, outputs=STEPS),
        gradients("sinks_zero", "A sink of zero still counts")(PLAIN, sinks=[0.0, 0.0]),
        gradients("sinks_hundred", "Sinks that leave almost nothing to the keys")(PLAIN, sinks=[100.0, 96.0]),
        gradients("sinks_minus_hundred", "Sinks that take almost nothing")(PLAIN, sinks=[-100.0, -96.0]),
        gradients("sinks_grouped", "A sink for each of six query heads")(GROUPED, sinks=SIX_SINKS),
        gradients("sinks_grad_logsumexp", "Sinks and a gradient of the logsumexp")(
            BATCH, sinks=SINKS, with_grad_logsumexp=True
        ),
        gradients("sinks_softcap", "Sinks are not capped")(PLAIN, sinks=[3.0, -2.0], softcap=1.0),
        gradients("sinks_scale", "Sinks are not scaled")(PLAIN, sinks=[3.0, -2.0], scale=0.125),
        gradients("sinks_one_key", "One key beside a sink")(Sizes(1, 2, 2, 3, 1, 3, 2), sinks=SINKS, outputs=STEPS),
        gradients("alibi", "Biases by distance")(SQUARE, alibi_slopes=SLOPES),
        gradients("alibi_causal", "Biases by distance, and causality")(SQUARE, alibi_slopes=SLOPES, is_causal=True),
        gradients(
            "alibi_more_queries_sinks",
            "Biases by distance of queries that stand before the first key, and sinks, which no shift of a row cancels",
        )(Sizes(1, 2, 2, 6, 3, 3, 2), alibi_slopes=SLOPES, **BOTTOM, sinks=[0.5, -1.25]),
        gradients("alibi_grouped", "Biases of six query heads")(Sizes(1, 6, 2, 5, 5, 3, 2), alibi_slopes=SIX_SLOPES),
        gradients("alibi_one_query", "Biases of six query heads of one query, over two key heads")(
            Sizes(1, 6, 2, 1, 5, 3, 2), alibi_slopes=SIX_SLOPES, **BOTTOM
        ),
        *(
            gradients(f"alibi_{alignment}", f"Biases by distance, {alignment}")(
                PLAIN, alibi_slopes=SLOPES, causal_alignment=alignment
            )
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
        gradients("alibi_softcap", "Biases are added after the softcap")(
            SQUARE, alibi_slopes=SLOPES, softcap=1.0, outputs=STEPS
        ),
        *hidden_cases(),
        *range_cases(),
        *refusals(),
        # Return a case for each row.
        *(case_of(number, dict(zip(LEVELS, row, strict=True))) for number, row in enumerate(ROWS)),
        *part_cases(),
        *feature_cases(),
    )
