"""Profiles layout and self_attention: the other operations, and layers whose query, key and value are one sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.layout import heads, projections, self_attention, softmax, special_layers

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of both profiles."""
    return tuple(
        case for module in (softmax, heads, projections, special_layers, self_attention) for case in module.cases()
    )
