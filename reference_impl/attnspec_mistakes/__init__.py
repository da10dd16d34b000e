"""The catalogue of mistakes: wrong implementations, each the reference but for one thing.

The mistakes serve twice. They prove that the cases notice what they should, and they say to an implementation that
failed which mistake reproduces its numbers.

Examples
--------
>>> from attnspec_mistakes import mistakes_of
>>> mistakes_of("softmax")[0].id
'softmax.first_axis_always'
"""

from attnspec_mistakes import attention, rotary
from attnspec_mistakes.attention.readings import READINGS
from attnspec_mistakes.mistake import Mistake

__all__ = ["CATALOGUE", "READINGS", "Mistake", "mistakes_of"]

CATALOGUE: tuple[Mistake, ...] = (*attention.MISTAKES, *rotary.MISTAKES)
"""Every mistake, family by family."""


def mistakes_of(operation: str) -> tuple[Mistake, ...]:
    """Return the mistakes of one operation, in the order of the catalogue; none for one that has none."""
    return tuple(mistake for mistake in CATALOGUE if mistake.operation == operation)
