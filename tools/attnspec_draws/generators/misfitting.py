"""Arguments of which one has another value, so that they must be refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnspec_draws.generators.refusing import REFUSED, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Words

_MISFIT = 3
"""Of a hundred draws, in how many an argument is given another value."""


@dataclass(frozen=True)
class Misfit:
    """Argument, and the values of it that a clause refuses.

    `values` makes them from a valid draw; none where that lacks what they would not fit.
    """

    argument: str
    clause: str
    values: Callable[[Drawn], Sequence[Any]]


def of_another_value(words: Words, drawn: Drawn, misfits: Sequence[Misfit], limits: Limits) -> Drawn | None:
    """Give one argument of a valid case a value that must be refused, or, for most draws, return None.

    Whether the page refuses the result is not known yet: a parameter may be one that is not used.
    """
    stream = words.of("misfit")
    if not stream.percent(_MISFIT) or drawn.sample or not limits.allow(REFUSED):
        return None
    choices = [(misfit, values) for misfit in misfits if (values := misfit.values(drawn))]
    if not choices:
        return None
    misfit, values = stream.one_of(choices)
    value = stream.one_of(values)
    if misfit.argument in drawn.inputs:
        return refused(drawn, misfit.clause, inputs={**drawn.inputs, misfit.argument: value})
    return refused(drawn, misfit.clause, attributes={**drawn.attributes, misfit.argument: value})
