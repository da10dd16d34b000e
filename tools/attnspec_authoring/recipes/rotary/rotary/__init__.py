"""Rotary positions: frequencies under every scaling, tables, rotations, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.rotary.rotary import (
    beyond_float16,
    bounds,
    frequencies,
    layouts,
    nonfinite,
    pairs,
    rejects,
    rotations,
    scalings,
    sizes,
    tables,
    yarn,
)
from attnspec_authoring.recipes.rotary.rotary.changed_arguments import with_changed_arguments

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["cases"]


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `rotary`."""
    modules = (
        *(frequencies, scalings, yarn, tables, rotations, pairs, nonfinite, layouts, rejects, bounds, sizes),
        beyond_float16,
    )
    return with_changed_arguments(case for module in modules for case in module.cases())
