"""The recipes of caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case of caches, sorted by id."""
    from attnspec_authoring.recipes.caches import caches, targets
    from attnspec_authoring.recipes.completing import with_targets

    return with_targets(sorted(caches.cases(), key=lambda case: case.id), targets.TARGETS, targets.__file__)
