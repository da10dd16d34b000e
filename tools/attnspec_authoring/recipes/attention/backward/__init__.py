"""Profile backward: gradients of queries, keys, values, masks and sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.backward import (
    arrangements,
    beyond_float16,
    blocks,
    borders,
    caps,
    counts,
    empty_features,
    empty_rows,
    extents,
    extremes,
    features,
    many_queries,
    masks,
    memory,
    misfits,
    neutral,
    nonfinite,
    nonfinite_places,
    numbers,
    pairs,
    ranges,
    rejects,
    stored,
    sums_in_half,
    targets,
)
from attnspec_authoring.recipes.targeting import with_targets

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

RECIPES = (
    features,
    masks,
    stored,
    empty_rows,
    extents,
    blocks,
    counts,
    numbers,
    ranges,
    pairs,
    nonfinite,
    memory,
    rejects,
    caps,
    misfits,
    borders,
    extremes,
    nonfinite_places,
    arrangements,
    many_queries,
    neutral,
    sums_in_half,
    beyond_float16,
    empty_features,
)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile backward."""
    made = tuple(case for recipe in RECIPES for case in recipe.cases())
    return with_targets(made, targets.TARGETS, targets.__file__)
