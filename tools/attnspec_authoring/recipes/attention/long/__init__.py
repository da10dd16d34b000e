"""Profile `long`: from 1,000 to 131,072 keys; inputs are generated, and rows that a sample names are certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.long.beyond import beyond
from attnspec_authoring.recipes.attention.long.targets import targets_of
from attnspec_authoring.recipes.attention.long.thousands import thousands

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["cases"]


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile, each with the mistakes that it is there to catch."""
    return tuple(targets_of(case) for case in (*thousands(), *beyond()))
