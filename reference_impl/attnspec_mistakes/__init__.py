"""The catalogue of mistakes: wrong implementations, each the reference but for one thing.

The mistakes serve twice. They prove that the cases notice what they should, and they say to an implementation that
failed which mistake reproduces its numbers.

Examples
--------
>>> from attnspec_mistakes import mistakes_of
>>> mistakes_of("softmax")[0].id
'softmax.first_axis_always'
"""

from importlib import import_module
from pkgutil import iter_modules

from attnspec_mistakes.attention.readings import READINGS
from attnspec_mistakes.mistake import Mistake

__all__ = ["CATALOGUE", "READINGS", "Mistake", "mistakes_of", "rarer_mistakes"]

_FAMILIES = [import_module(f"{__name__}.{room.name}") for room in iter_modules(__path__) if room.ispkg]

CATALOGUE: tuple[Mistake, ...] = tuple(mistake for family in _FAMILIES for mistake in family.MISTAKES)
"""Every mistake, family by family; a family is a folder in here."""


def mistakes_of(operation: str) -> tuple[Mistake, ...]:
    """Return the mistakes of one operation, in the order of the catalogue; none for one that has none."""
    return tuple(mistake for mistake in CATALOGUE if mistake.operation == operation)


def rarer_mistakes() -> tuple[Mistake, ...]:
    """Return the mistakes beside the catalogue, which no case is made to notice: failures may be put down to them."""
    # Only what fails in an unknown way needs them.
    return import_module(f"{__name__}.attention.rarer").MISTAKES
