"""Rotary positions: frequencies under every scaling, tables, rotations, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.rotary.rotary import frequencies, rejects, rotations, scalings, tables, yarn

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

__all__ = ["cases"]


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `rotary`."""
    return tuple(
        case for module in (frequencies, scalings, yarn, tables, rotations, rejects) for case in module.cases()
    )
