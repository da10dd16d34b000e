"""Profile layout: the other operations: softmax, masks, heads, projections, initialisation, the context vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.layout import heads, projections, softmax, special_layers

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile layout."""
    return (*softmax.cases(), *heads.cases(), *projections.cases(), *special_layers.cases())
