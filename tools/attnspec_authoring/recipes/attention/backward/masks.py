"""Gradients under masks of every shape, and beside arguments that change nothing."""

from __future__ import annotations

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_CAUSAL,
    HIDDEN,
    Sizes,
    boolean_mask,
    booleans,
    float_mask,
    floats,
)
from attnspec_authoring.recipes.attention.backward.gradients import GROUPED, PLAIN, SQUARE, STEPS, gradients
from attnspec_authoring.recipes.attention.masking.neutral import SIZES, pairs
from attnspec_authoring.recipes.authoring import AuthoredCase, table

SHAPES = {
    "4_full": (3, 2, 4, 5),
    "4_no_heads": (3, 1, 4, 5),
    "4_no_batch": (1, 2, 4, 5),
    "4_no_queries": (3, 2, 1, 5),
    "4_of_entries": (3, 1, 1, 5),
    "4_shared": (1, 1, 4, 5),
    "4_one_row": (1, 1, 1, 5),
    "3_full": (2, 4, 5),
    "3_shared": (1, 4, 5),
    "3_of_heads": (2, 1, 5),
    "3_one_row": (1, 1, 5),
    "2_full": (4, 5),
    "2_one_row": (1, 5),
}
MASKED = Sizes(3, 2, 1, 4, 5, 1, 1)
"""Sizes of which the mask is the largest part."""
BOOLEAN = ("4_no_heads", "4_of_entries", "3_full", "3_of_heads", "2_one_row")


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put masks together with all that has a part in the gradient of a mask, and all that has none."""
    case = table(gradients, sizes=PLAIN)
    visible = float_mask("backward/float_mask_without_exclusions", (4, 5), hides=False)
    sinks = [0.5, -1.25]
    square = float_mask("backward/float_mask_causal", (2, 5, 5))
    hidden = np.where(np.arange(5) == 2, HIDDEN, 0.0).reshape(1, 5)
    return (
        gradients("float_mask_without_exclusions", "A float mask that excludes nothing")(MASKED, mask=visible),
        case("float_mask_of_zeros", "A float mask of zeros has a gradient")(mask=np.zeros((4, 5)), outputs=STEPS),
        case("float_mask_hides_one_key", "A float mask hides one key from all")(mask=hidden, clauses="excluded"),
        case("boolean_mask_hides_one_key", "A Boolean mask hides one key from all")(
            mask=np.arange(5).reshape(1, 5) != 2, clauses="excluded"
        ),
        case("float_mask_scale", "The gradient of a mask is not scaled")(mask=visible, scale=0.125),
        case("float_mask_scale_zero", "A scale of 0 leaves the mask its gradient")(mask=visible, scale=0.0),
        case("float_mask_softcap", "The gradient of a mask is not capped")(mask=visible, softcap=1.0, outputs=STEPS),
        gradients("float_mask_sinks", "A float mask beside sinks")(MASKED, mask=visible, sinks=sinks),
        gradients("float_mask_causal", "A float mask and causality")(SQUARE, mask=square, is_causal=True),
        case("float_mask_causal_bottom", "A float mask shared by all heads, and causality, bottom-right")(
            mask=visible, **BOTTOM_CAUSAL
        ),
        gradients("float_mask_window", "A float mask and a window")(SQUARE, mask=square[:1], window=[1, 1]),
        gradients("float_mask_lengths", "A float mask shared by batch entries of different lengths")(
            MASKED, mask=visible, key_lengths=[5, 2, 3], query_lengths=[4, 1, 3]
        ),
        case("float_mask_grad_logsumexp", "A float mask and a gradient of the logsumexp")(
            mask=visible, with_grad_logsumexp=True
        ),
        case("boolean_mask_softcap", "A Boolean mask and a softcap")(
            mask=boolean_mask("backward/bs", (2, 4, 5)), softcap=1.5
        ),
        gradients("boolean_mask_causal", "A Boolean mask and causality")(
            SQUARE, mask=np.arange(5) != np.arange(5)[:, np.newaxis] - 1, is_causal=True
        ),
        gradients("boolean_mask_sinks", "A Boolean mask beside sinks")(
            GROUPED, mask=boolean_mask("backward/bk", (6, 4, 5)), sinks=[0.5, -1.0, 2.0, 0.0, 1.5, -0.25]
        ),
    )


def one_query_cases() -> tuple[AuthoredCase, ...]:
    """Masks for each head of a group, with one query: packed as its queries, the heads keep masks of their own."""
    sizes = Sizes(3, 4, 2, 1, 5, 1, 2)
    return tuple(
        gradients(
            f"{kind}_mask_{name}_of_grouped_heads_one_query",
            f"One query of four heads that share two, and a {kind} mask of the shape {shape} for each of the four",
        )(sizes, mask=draw(f"backward/{kind}_mask_{name}_of_grouped_heads_one_query", shape))
        for kind, draw, name, shape in (
            ("boolean", boolean_mask, "3", (4, 1, 5)),
            ("float", float_mask, "4", (3, 4, 1, 5)),
        )
    )


ROWS = (2, 6, 4)


def neutral_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of neutral arguments, and of gradients that are 0 or the same everywhere."""
    half = np.zeros((*ROWS, 2))
    half[:, :2] = 0.5
    return (
        *(
            gradients(f"neutral_{name}", title)(SIZES, **arguments)
            for name, title, arguments in pairs(("boolean_mask", "float_mask", "lengths"))
        ),
        gradients("neutral_no_gradient_of_output", "A gradient of the output of zeros, beside one of the logsumexp")(
            SIZES, grad_output=np.zeros((*ROWS, 2)), with_grad_logsumexp=True, mask=np.zeros((2, 6, 4, 5))
        ),
        gradients(
            "neutral_no_gradient_of_output_sinks",
            "A gradient of the output of zeros, beside one of the logsumexp, and sinks",
        )(SIZES, grad_output=np.zeros((*ROWS, 2)), with_grad_logsumexp=True, sinks=[0.5, -1.0, 2.0, 0.25, 0.0, -0.5]),
        gradients("neutral_no_gradient_of_logsumexp", "A gradient of the logsumexp of zeros")(
            SIZES, grad_logsumexp=np.zeros(ROWS), mask=np.zeros((4, 5))
        ),
        gradients(
            "neutral_gradient_of_two_heads",
            "A gradient of the output that is one number in two heads, and 0 in the others",
        )(SIZES, grad_output=half, with_grad_logsumexp=True),
        gradients("neutral_one_key_and_logsumexp", "A single key, whose weight is 1, and a gradient of the logsumexp")(
            Sizes(2, 6, 2, 3, 1, 3, 2), with_grad_logsumexp=True, mask=np.zeros((2, 6, 3, 1))
        ),
        *(
            gradients(f"neutral_float_mask_{name}", f"A float mask of zeros, {what}, has a gradient")(
                SIZES, mask=np.zeros(shape)
            )
            for name, what, shape in (
                ("rows", "one for all heads", (4, 5)),
                ("row", "one row for all queries", (1, 5)),
                ("entries", "one row for each entry", (2, 1, 1, 5)),
            )
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Every shape that a mask may have.
        *(
            gradients(f"float_mask_{name}", f"A float mask of the shape {shape}")(MASKED, mask=floats(*shape))
            for name, shape in SHAPES.items()
        ),
        *(
            gradients(f"boolean_mask_{name}", f"A Boolean mask of the shape {SHAPES[name]}")(
                MASKED, mask=booleans(*SHAPES[name])
            )
            for name in BOOLEAN
        ),
        gradients(
            "float_mask_batch_equals_heads", "A float mask of three axes where there are as many batch entries as heads"
        )(Sizes(2, 2, 2, 3, 4, 2, 3), mask=floats(2, 3, 4)),
        *(
            gradients(
                f"{kind}_mask_of_queries_as_many_as_entries",
                f"A {what} mask of the shape (3, 5) has a row for each query, also with as many batch entries",
            )(Sizes(3, 2, 1, 3, 5, 1, 1), mask=draw(f"backward/{kind}_mask_of_queries_as_many_as_entries", (3, 5)))
            for kind, what, draw in (("boolean", "Boolean", boolean_mask), ("float", "float", float_mask))
        ),
        gradients("float_mask_grouped", "A float mask for each of six query heads")(GROUPED, mask=floats(6, 4, 5)),
        gradients("float_mask_grouped_shared", "One float mask for six query heads over two")(
            GROUPED, mask=floats(1, 1, 4, 5)
        ),
        *combined_cases(),
        *one_query_cases(),
        *neutral_cases(),
    )
