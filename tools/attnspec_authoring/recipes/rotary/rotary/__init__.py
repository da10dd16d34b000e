"""Rotary positions: frequencies under every scaling, tables, rotations, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.rotary.rotary import (
    bounds,
    frequencies,
    layouts,
    pairs,
    rejects,
    rotations,
    sizes,
    tables,
)
from attnspec_authoring.recipes.rotary.rotary.layouts import with_changed_arguments

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `rotary`."""
    modules = (frequencies, tables, rotations, pairs, layouts, rejects, bounds, sizes)
    return with_changed_arguments(case for module in modules for case in module.cases())
