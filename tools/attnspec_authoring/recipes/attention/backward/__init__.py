"""Profile backward: gradients of queries, keys, values, masks and sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.backward import (
    blocks,
    empty,
    extremes,
    features,
    masks,
    memory,
    nonfinite,
    numbers,
    rejects,
    sizes,
    targets,
)
from attnspec_authoring.recipes.completing import with_targets

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

RECIPES = (features, masks, empty, sizes, blocks, numbers, nonfinite, memory, rejects, extremes)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile backward."""
    made = tuple(case for recipe in RECIPES for case in recipe.cases())
    return with_targets(made, targets.TARGETS, targets.__file__)
