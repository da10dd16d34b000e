"""Profile stress: numbers and lengths at which finite arithmetic goes wrong first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.stress import (
    beyond_float16,
    digits,
    empty_features,
    faint_tiles,
    far_scales,
    far_sinks,
    hidden_gaps,
    long_rows,
    longer_than_a_tile,
    lowest_logits,
    lowest_masks,
    magnitudes,
    overflow,
    parts,
    projections,
    ties,
)

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile stress."""
    return (
        *magnitudes.cases(),
        *hidden_gaps.cases(),
        *long_rows.cases(),
        *longer_than_a_tile.cases(),
        *projections.cases(),
        *overflow.cases(),
        *lowest_masks.cases(),
        *parts.cases(),
        *far_scales.cases(),
        *digits.cases(),
        *ties.cases(),
        *beyond_float16.cases(),
        *faint_tiles.cases(),
        *empty_features.cases(),
        *far_sinks.cases(),
        *lowest_logits.cases(),
    )
