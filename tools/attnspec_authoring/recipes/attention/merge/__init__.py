"""Merged states: two parts of the keys, of any weight, empty or not, and what attention over all keys says to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.merge import (
    borders,
    empty_parts,
    laws,
    layouts,
    nonfinite,
    rejects,
    rejects_by_axis,
    sizes,
    splits,
    weights,
)
from attnspec_authoring.recipes.attention.merge.changed_arguments import with_changed_arguments

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["cases"]


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `merge`."""
    modules = (sizes, weights, empty_parts, nonfinite, laws, splits, layouts, rejects, rejects_by_axis, borders)
    return with_changed_arguments(case for module in modules for case in module.cases())
