"""Output and logsumexp as the forward pass stored them: each alone, and both beside every feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, Sizes, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.backward.gradients import (
    BATCH,
    GROUPED,
    PLAIN,
    SQUARE,
    STEPS,
    STORED,
    gradients,
)

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SIZES = Sizes(3, 2, 1, 4, 5, 1, 1)
SINKS = np.array([0.5, -1.25])


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
    """Return the cases in which something of the forward pass is given."""
    return (*part_cases(), *feature_cases())
