"""Profile pairs: features, extents, numbers and memory layouts, of which every two meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.pairs import attention_cases

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile pairs."""
    return attention_cases.TABLE.cases()
