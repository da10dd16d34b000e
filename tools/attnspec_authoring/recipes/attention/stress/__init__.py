"""Profile stress: numbers and lengths at which finite arithmetic goes wrong first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.stress import digits, extents, far, magnitudes, overflow, tiles

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile stress."""
    return (*magnitudes.cases(), *extents.cases(), *tiles.cases(), *digits.cases(), *overflow.cases(), *far.cases())
