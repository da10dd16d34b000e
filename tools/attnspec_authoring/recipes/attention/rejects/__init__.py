"""Profile rejects: inputs that make no sense, each beside a valid counterpart that differs in nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.rejects import counterparts, others, shapes, sizes

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile rejects, counterparts included."""
    return (*counterparts.counterparts(), *shapes.cases(), *sizes.cases(), *others.cases())
