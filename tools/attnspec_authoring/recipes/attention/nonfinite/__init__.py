"""Profile nonfinite: NaN and infinities; no other profile of attention holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.nonfinite import attended, layers_and_scales

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile nonfinite."""
    return (*attended.cases(), *layers_and_scales.cases())
