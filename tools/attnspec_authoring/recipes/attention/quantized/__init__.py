"""Profile quantized: keys, values and queries that hold few bits a number, each of which counts times a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile quantized."""
    from attnspec_authoring.recipes.attention.quantized import features, formats, granularity, sums

    return (*granularity.cases(), *features.cases(), *formats.cases(), *sums.cases())
