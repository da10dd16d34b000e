"""The recipes of attention, a package or module a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["authored_cases"]


def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case of attention, sorted by id."""
    from attnspec_authoring.recipes.attention import (
        alibi,
        cache,
        causal,
        core,
        documents,
        grouped_query,
        layout,
        logsumexp,
        masking,
        memory,
        nonfinite,
        pairs,
        rejects,
        sinks,
        softcap,
        stress,
        tails,
        targets,
        varlen,
        window,
    )
    from attnspec_authoring.recipes.targeting import with_targets

    recipes = (
        documents,
        core,
        masking,
        causal,
        grouped_query,
        window,
        softcap,
        cache,
        varlen,
        sinks,
        alibi,
        logsumexp,
        layout,
        stress,
        tails,
        pairs,
        nonfinite,
        memory,
        rejects,
    )
    cases = (case for recipe in recipes for case in recipe.cases())
    return with_targets(sorted(cases, key=lambda case: case.id), targets.TARGETS, targets.__file__)
