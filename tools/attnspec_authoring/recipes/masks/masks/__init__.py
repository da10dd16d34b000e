"""The cases of the profile `masks`: every rule alone and beside others, and the lists of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.masks.masks import beside, blocks, documents, positions, rejects, rules, trees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of the profile `masks`."""
    for module in (positions, rules, documents, trees, blocks, beside, rejects):
        yield from module.cases()
