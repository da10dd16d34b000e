"""Profile memory: how inputs lie in memory, whether they are left alone, and whether an answer can be had twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.memory import calls, layouts, other_inputs

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile memory."""
    return (*layouts.cases(), *calls.cases(), *other_inputs.cases())
