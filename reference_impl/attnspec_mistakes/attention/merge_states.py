"""What goes wrong in merging two parts, in the order of the clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.attention import (
    merge_empty_parts,
    merge_laws,
    merge_logarithms,
    merge_memory,
    merge_refusals,
    merge_rows,
    merge_weights,
)

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *merge_rows.MISTAKES,
    *merge_weights.MISTAKES,
    *merge_logarithms.MISTAKES,
    *merge_empty_parts.MISTAKES,
    *merge_laws.MISTAKES,
    *merge_memory.MISTAKES,
    *merge_refusals.MISTAKES,
)
