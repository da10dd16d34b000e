"""Profile rejects: inputs that make no sense, each beside a valid twin that differs in nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.rejects import others, shapes, sizes, twins

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile rejects, twins included."""
    return (*twins.twins(), *shapes.cases(), *sizes.cases(), *others.cases())
