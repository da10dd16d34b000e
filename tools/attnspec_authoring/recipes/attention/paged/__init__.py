"""Profile paged: what shows in layouts of serving, which hold keys and values in pages, or packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.paged import sequences, windows

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["cases"]


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `paged`."""
    return (*sequences.cases(), *windows.cases())
