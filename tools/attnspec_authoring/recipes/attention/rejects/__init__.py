"""Profile rejects: inputs that make no sense, each beside a valid twin that differs in nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.rejects import (
    counterparts,
    lengths_and_masks,
    other_operations,
    others,
    repeated_scales,
    scales,
    shapes,
    sizes,
)

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile rejects, twins included."""
    return (
        *counterparts.counterparts(),
        *shapes.cases(),
        *sizes.cases(),
        *lengths_and_masks.cases(),
        *others.cases(),
        *scales.cases(),
        *repeated_scales.cases(),
        *other_operations.cases(),
    )
