"""Profile pairs: features, extents, numbers and memory layouts, of which every two meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.pairs import attention_cases, layers, splits

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

TABLES = (attention_cases.TABLE, *layers.TABLES, *layers.STEP_TABLES)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile pairs."""
    return (*(case for table in TABLES for case in table.cases()), *splits.cases(), *layers.far_masks())
