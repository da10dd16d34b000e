"""The recipes of norms, a package a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case of norms, sorted by id."""
    from attnspec_authoring.recipes.completing import with_targets
    from attnspec_authoring.recipes.norms import norms, targets

    return with_targets(sorted(norms.cases(), key=lambda case: case.id), targets.TARGETS, targets.__file__)
