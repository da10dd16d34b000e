"""The recipes of attention, a package or module a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["authored_cases", "sampled_cases"]


def sampled_cases() -> tuple[AuthoredCase, ...]:
    """Return every case of attention with generated inputs, sorted by id."""
    from attnspec_authoring.recipes.attention import long

    return tuple(sorted(long.cases(), key=lambda case: case.id))


def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case of attention, sorted by id."""
    from attnspec_authoring.recipes.attention import (
        alibi,
        backward,
        cache,
        causal,
        core,
        documents,
        grouped_query,
        layout,
        logsumexp,
        masking,
        memory,
        merge,
        nonfinite,
        paged,
        pairs,
        quantized,
        rejects,
        sinks,
        softcap,
        stress,
        tails,
        targets,
        varlen,
        window,
    )
    from attnspec_authoring.recipes.completing import with_targets

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
        paged,
        sinks,
        alibi,
        logsumexp,
        backward,
        merge,
        layout,
        stress,
        tails,
        pairs,
        nonfinite,
        memory,
        quantized,
        rejects,
    )
    cases = (case for recipe in recipes for case in recipe.cases())
    return with_targets(sorted(cases, key=lambda case: case.id), targets.TARGETS, targets.__file__)
