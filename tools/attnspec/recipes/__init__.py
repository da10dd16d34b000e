"""Recipes: the authored part of every golden case, a package or module a profile."""

from attnspec.recipes.authoring import (
    EVERY_DTYPE,
    SINGLE_AND_DOUBLE,
    AuthoredCase,
    Printed,
    Rejects,
    Source,
)

__all__ = [
    "EVERY_DTYPE",
    "SINGLE_AND_DOUBLE",
    "AuthoredCase",
    "Printed",
    "Rejects",
    "Source",
    "authored_cases",
]


def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case of the suite, sorted by id."""
    from attnspec.recipes import (
        alibi,
        cache,
        causal,
        core,
        documents,
        grouped_query,
        half_precision_sums,
        layout,
        logsumexp,
        masking,
        memory,
        nonfinite,
        pairwise,
        rare_mistakes,
        rejects,
        sinks,
        softcap,
        special_paths,
        stress,
        tails,
        varlen,
        window,
    )
    from attnspec.recipes.targets import with_targets

    recipes = (
        documents,
        core,
        masking,
        causal,
        grouped_query,
        half_precision_sums,
        window,
        softcap,
        cache,
        varlen,
        sinks,
        alibi,
        logsumexp,
        layout,
        special_paths,
        stress,
        tails,
        nonfinite,
        memory,
        rejects,
        pairwise,
        rare_mistakes,
    )
    cases = (case for recipe in recipes for case in recipe.cases())
    return with_targets(sorted(cases, key=lambda case: case.id))
