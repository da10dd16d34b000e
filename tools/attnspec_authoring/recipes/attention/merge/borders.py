"""Outputs of three and of five axes, beside logarithms that fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.merge.parts import drawn, merging
from attnspec_authoring.recipes.attention.merge.rejects import refused

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

TWIN = "rejects_twin_of_equal_axes"
SHAPE = (2, 2, 2, 2)
"""All axes have one length, so that axes too few and too many still match."""


def cases() -> tuple[AuthoredCase, ...]:
    """Return outputs of other ranks, whose first three axes are those of the logarithms."""
    valid = drawn(TWIN, SHAPE)
    outputs, logarithms = ("output_a", "output_b"), ("logsumexp_a", "logsumexp_b")
    three = {name: valid[name][0] for name in outputs}
    five = {name: valid[name][None] for name in outputs} | {name: valid[name][:1] for name in logarithms}
    return (
        merging(TWIN, "valid twin of outputs of three and five axes")(SHAPE),
        refused("outputs_of_three_axes", "Outputs of three axes beside logarithms of three are refused")(
            TWIN, valid, "rank", "The outputs have three axes, and so have the logarithms.", three, strict=True
        ),
        refused("outputs_of_five_axes", "Outputs of five axes are refused")(
            TWIN,
            valid,
            "rank",
            "The outputs have five axes, of which the first three are those of the logarithms.",
            five,
            strict=True,
        ),
    )
