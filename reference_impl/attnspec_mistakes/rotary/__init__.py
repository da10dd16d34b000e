"""What goes wrong in rotary positions, in the order of the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_mistakes.rotary import (
    apply_rotary,
    frequencies,
    frequency_scalings,
    memory,
    refusals,
    rotary_tables,
    yarn,
)

if TYPE_CHECKING:
    from attnspec_mistakes.mistake import Mistake

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = (
    *frequencies.MISTAKES,
    *frequency_scalings.MISTAKES,
    *yarn.MISTAKES,
    *rotary_tables.MISTAKES,
    *apply_rotary.MISTAKES,
    *memory.MISTAKES,
    *refusals.MISTAKES,
)
