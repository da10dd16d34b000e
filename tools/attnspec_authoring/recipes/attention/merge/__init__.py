"""Merged states: two parts of the keys, of any weight, empty or not, and what attention over all keys says to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.merge import empty_parts, laws, rejects, splits, weights
from attnspec_authoring.recipes.attention.merge.parts import with_changed_arguments

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `merge`."""
    modules = (laws, weights, empty_parts, splits, rejects)
    return with_changed_arguments(case for module in modules for case in module.cases())
