"""Recipes: the authored part of every golden case, a package a family, in it a package or module a profile."""

from functools import cache

from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, Printed, Rejects, Source

__all__ = [
    "EVERY_DTYPE",
    "SINGLE_AND_DOUBLE",
    "AuthoredCase",
    "Printed",
    "Rejects",
    "Source",
    "authored_cases",
    "sampled_cases",
]


@cache
def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case whose inputs stand in its file, sorted by id; they are made once a process."""
    from attnspec_authoring.recipes import attention, rotary
    from attnspec_authoring.recipes.completing import with_shared_clauses

    families = (attention, rotary)
    cases = (case for family in families for case in family.authored_cases())
    return with_shared_clauses(sorted(cases, key=lambda case: case.id))


@cache
def sampled_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case with generated inputs, of which a sample is certified, sorted by id."""
    from attnspec_authoring.recipes import attention

    return attention.sampled_cases()
