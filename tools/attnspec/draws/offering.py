"""What is drawn for an implementation: no more than it says that it offers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.conventions import CHOICES, fixed_attributes
from attnspec.draws.drawing import case_of, drawable, drawn_of
from attnspec.draws.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec.adapters import Declaration
    from attnspec.cases import Case
    from attnspec.lattice import Drawn, Limits


SMALL = 256
"""Elements of the largest tensor of the draws by which it is found what is not offered."""

_ENOUGH, _MOST = 60, 400
"""After how many draws in a row that are offered nothing is looked for, and after how many in all."""


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


def learned(operation: str, limits: Limits, offered: Callable[[Case], bool], seed: str) -> frozenset[str]:
    """Find what an implementation declines beside what it declares, by small draws.

    Parameters
    ----------
    operation
        The operation that is drawn.
    limits
        What draws keep to, what is declared left out.
    offered
        Whether a case is answered, rightly or not.
    seed
        The seed of the small draws.

    Returns
    -------
    without
        What is to be left out, what was known already included.
    """
    in_a_row = 0
    small = replace(limits, elements=min(limits.elements, SMALL), longest=min(limits.longest, SMALL))
    for number in range(_MOST):
        recipe = Recipe(operation, seed, number, small)
        drawn = drawn_of(recipe)
        if offered(case_of(recipe, drawn)):
            in_a_row += 1
            if in_a_row == _ENOUGH:
                break
            continue
        in_a_row = 0
        at_fault = _at_fault(recipe, drawn, offered)
        if at_fault is not None:
            small = replace(small, without=small.without | {at_fault})
    return small.without


def _at_fault(recipe: Recipe, drawn: Drawn, offered: Callable[[Case], bool]) -> str | None:
    """Return the feature without which a draw would be offered; None where there is no such one."""
    kept = recipe
    last: str | None = None
    for feature in drawn.features:
        fewer = kept.leaving_out((feature,))
        made = drawn_of(fewer)
        if feature in made.features:
            continue
        if offered(case_of(fewer, made)):
            last = feature
        else:
            kept = fewer
    return last
