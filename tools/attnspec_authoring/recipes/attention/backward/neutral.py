"""Gradients of what changes nothing, or the same everywhere, beside what does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.backward.gradients import gradients
from attnspec_authoring.recipes.attention.masking.neutral import SIZES, pairs

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

ROWS = (2, 6, 4)


def cases() -> tuple[AuthoredCase, ...]:
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
