"""Profile memory: how inputs lie in memory, whether they are left alone, and whether an answer can be had twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.memory import (
    changed_places,
    fused,
    layouts,
    one_array,
    other_inputs,
    sequences,
)

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile memory."""
    return (
        *layouts.cases(),
        *changed_places.cases(),
        *one_array.cases(),
        *fused.cases(),
        *other_inputs.cases(),
        *sequences.cases(),
    )
