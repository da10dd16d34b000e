"""Features to draw for an implementation: no more than it says that it offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from attnspec.contract import OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, Choices, can_be_missing
from attnspec_draws.drawing import case_of, drawable, drawn_of
from attnspec_draws.least_offered import least_offered
from attnspec_draws.seed_text import Recipe

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.targets import Declaration
    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits


SMALL = 256
"""Elements of the largest tensor of the draws by which it is found what is not offered."""

_ENOUGH, _MOST = 60, 400
"""After how many draws in a row that are offered nothing is looked for, and after how many in all."""

_UNDECIDED = 100
"""Draws for which it is left open which of several features is declined: those offered meanwhile may show it."""


def small(limits: Limits) -> Limits:
    """Return the limits of draws by which it is found what is not offered."""
    return replace(limits, elements=min(limits.elements, SMALL), longest=min(limits.longest, SMALL))


def drawn_for(declaration: Declaration) -> tuple[str, ...]:
    """Return the operations that are offered and of which cases can be drawn, in the order of the contract."""
    return tuple(operation for operation in drawable() if operation in declaration.operations)


def not_offered(declaration: Declaration, conventions: Choices) -> frozenset[str]:
    """Return the features to leave out of draws, by a declaration and every convention's choice."""
    fixed = conventions.departing[Settles.ATTRIBUTE]
    others = [f"{name}={choice}" for name, only in fixed.items() for choice in CHOICES[name] if choice != only]
    # A convention may have choices, such as any, that no call states.
    return frozenset((*declaration.without, *filter(can_be_missing, others)))


def learned(operation: str, limits: Limits, offered: Callable[[Case], bool | None], seed: str) -> Limits:
    """Learn what an implementation declines beside its declaration, and what it always wants, by small draws.

    Returns the limits of draws that it takes. `offered` gives None where a case comes to no answer, which says nothing
    about its features: they are to be drawn.
    """
    in_a_row = 0
    found = least_offered(operation, small(limits), offered, f"{seed}-plain")
    had: set[str] = set()
    arguments = OPERATIONS[operation].arguments
    for number in range(_MOST):
        recipe = Recipe(operation, seed, number, found)
        drawn = drawn_of(recipe)
        is_offered = offered(case_of(recipe, drawn))
        if is_offered is not False:
            # One that is refused for its shapes may never have been looked at further.
            had.update(drawn.features if is_offered and not drawn.is_refused else ())
            in_a_row += 1
            if in_a_row == _ENOUGH:
                break
            continue
        in_a_row = 0
        suspects = _suspects(recipe, drawn, offered, had)
        # What an offered draw had is declined beside something else, if at all.
        at_fault = _narrowest([each for each in suspects if each.feature not in had], arguments)
        if not at_fault and number >= _UNDECIDED:
            at_fault = _narrowest(suspects, arguments)
        # Where each leaves the same behind, they go together, and it is all one which is named.
        if at_fault and (len({each.left for each in at_fault}) == 1 or number >= _UNDECIDED):
            found = replace(found, without=found.without | {at_fault[-1].feature})
    return replace(limits, without=found.without, stated=found.stated, given=found.given)


class _Suspect(NamedTuple):
    """A feature without which a draw is offered, how many features go with it, and which are left."""

    feature: str
    gone: int
    left: frozenset[str]


def _suspects(recipe: Recipe, drawn: Drawn, offered: Callable[[Case], bool | None], had: set[str]) -> list[_Suspect]:
    """Return the features without which a draw is offered, and add to `had` what offered draws have."""
    found: list[_Suspect] = []
    always = {*recipe.limits.given, *recipe.limits.stated}
    for feature in drawn.features:
        if feature in always:
            continue
        fewer = recipe.leaving_out((feature,))
        made = drawn_of(fewer)
        if feature in made.features:
            continue
        is_offered = offered(case_of(fewer, made))
        if is_offered:
            had.update(() if made.is_refused else made.features)
            found.append(_Suspect(feature, len({*drawn.features} - {*made.features}), frozenset(made.features)))
        elif is_offered is False:
            recipe, drawn = fewer, made
    return found


def _narrowest(suspects: Sequence[_Suspect], arguments: Collection[str]) -> list[_Suspect]:
    """Return those with which the fewest other features go; of these no argument where something else is as narrow."""
    fewest = min((each.gone for each in suspects), default=0)
    narrow = [each for each in suspects if each.gone == fewest]
    return [each for each in narrow if each.feature not in arguments] or narrow
