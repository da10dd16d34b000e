"""What is drawn for an implementation: no more than it says that it offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.conventions import CHOICES, fixed_attributes
from attnspec.draws.drawing import drawable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.adapters import Declaration


def drawn_for(declaration: Declaration) -> tuple[str, ...]:
    """Return the operations that are offered and of which cases can be drawn, in the order of the contract."""
    return tuple(operation for operation in drawable() if operation in declaration.operations)


def not_offered(declaration: Declaration, conventions: Mapping[str, str]) -> frozenset[str]:
    """Return the features that are to be left out of draws for an implementation.

    Parameters
    ----------
    declaration
        What it says about itself.
    conventions
        Every convention's choice for the operation that is drawn.
    """
    fixed = fixed_attributes(conventions)
    others = [f"{name}={choice}" for name, only in fixed.items() for choice in CHOICES[name] if choice != only]
    return frozenset((*declaration.without, *others))
