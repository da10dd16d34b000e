"""Random weight matrices to start from, graded by their properties."""

from __future__ import annotations

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.authoring import AuthoredCase

CLAUSES = ("shape", "mean", "standard_deviation", "distribution", "tails", "seed")


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of Glorot normal weights."""
    wide, square = {"fan_in": 32, "fan_out": 128}, {"fan_in": 64, "fan_out": 64}
    return (
        AuthoredCase(
            id="layout/glorot_normal_wide",
            title="Glorot normal weights of a 32x128 matrix, seed 1",
            operation="glorot_normal",
            clauses=tuple(f"glorot_normal.{clause}" for clause in CLAUSES),
            source=made_for("layout"),
            attributes={**wide, "seed": 1},
            dtypes=(),
            properties={"distribution": "normal", **wide},
            changed_argument=ChangedArgument("fan_out", 129),
            revision=2,
        ),
        AuthoredCase(
            id="layout/glorot_normal_other_seed",
            title="Glorot normal weights of a 64x64 matrix, and others with another seed",
            operation="glorot_normal",
            clauses=("glorot_normal.seed", "glorot_normal.tails"),
            source=made_for("layout"),
            attributes={**square, "seed": 7},
            dtypes=(),
            properties={"distribution": "normal", **square},
            changed_argument=ChangedArgument("seed", 8),
        ),
    )
