"""Every table of cases, and how the features of a case are switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.pairs import TABLES
from attnspec_authoring.recipes.attention.pairs.switched_off import switched_off

if TYPE_CHECKING:
    from attnspec_authoring.covering.table import Table

__all__ = ["switched_off", "tables"]


def tables() -> tuple[Table, ...]:
    """Return every table of cases."""
    return TABLES
