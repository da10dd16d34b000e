"""Case generator: draws the cases of one operation, and names what they can leave out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_draws.generators.beyond_float16 import Resized
    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.misfitting import Misfit
    from attnspec_draws.generators.refusing import Refusals
    from attnspec_draws.generators.words import Words


@dataclass(frozen=True)
class CaseGenerator:
    """Case generator of one operation.

    Attributes
    ----------
    draw
        Draws a case, from the streams of a seed and within limits.
    own_words
        Features that `Limits.without` can name beside capabilities, arguments, and ``argument=value``.
    refusals
        Input name to the clauses by which other shapes of it are refused.
    classes_of_large
        Classes of numbers of draws too large to be held whole; none where there are no such draws.
    resized
        Inputs that can be made too large or too small for float16 together.
    misfits
        Other values of arguments that must be refused.
    derived
        Inputs that follow from the others, as a stored output does.
    """

    draw: Callable[[Words, Limits], Drawn]
    own_words: frozenset[str]
    refusals: Mapping[str, Refusals] = field(default_factory=dict[str, "Refusals"])
    derived: frozenset[str] = frozenset()
    classes_of_large: tuple[str, ...] = ()
    resized: tuple[Resized, ...] = ()
    misfits: tuple[Misfit, ...] = ()
