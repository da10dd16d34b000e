"""Recipes: the authored part of every golden case, a package a family, in it a package or module a profile."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

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


def _families() -> list[ModuleType]:
    """Import the families, each a folder in here."""
    return [import_module(f"{__name__}.{room.name}") for room in iter_modules(__path__) if room.ispkg]


@cache
def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case whose inputs stand in its file, sorted by id; they are made once a process."""
    from attnspec_authoring.recipes.completing import with_shared_clauses

    cases: list[AuthoredCase] = [case for family in _families() for case in family.authored_cases()]
    return with_shared_clauses(sorted(cases, key=lambda case: case.id))


@cache
def sampled_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case with generated inputs, of which a sample is certified, sorted by id."""
    sampled = (getattr(family, "sampled_cases", tuple[AuthoredCase, ...]) for family in _families())
    return tuple(case for cases in sampled for case in cases())
