"""Profile masking: masks of every kind and shape, and those that exclude nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.masking import masks, neutral

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile masking."""
    return (*masks.cases(), *neutral.cases())
