"""The catalogue: wrong implementations, each a small departure from the reference, and right ones that differ from it.

The mistakes serve twice. They prove that the cases notice what they should, and they tell an implementation that
failed which mistake reproduces its numbers. The controls guard against a suite that fails what is right: every case
must pass every control.

Examples
--------
>>> from attnspec_mistakes import controls_of, mistakes_of
>>> mistakes_of("softmax")[0].id
'softmax.first_axis_always'
>>> controls_of("softmax")[0].id
'softmax.by_logarithm'
"""

from __future__ import annotations

from attnspec_mistakes import attention
from attnspec_mistakes.control import Control
from attnspec_mistakes.mistake import Mistake

__all__ = ["CATALOGUE", "CONTROLS", "Control", "Mistake", "controls_of", "mistakes_of"]

CATALOGUE: tuple[Mistake, ...] = attention.MISTAKES
"""Every mistake, family by family, in the order of the operations in the specification."""

CONTROLS: tuple[Control, ...] = attention.CONTROLS
"""Every control, in the same order."""


def mistakes_of(operation: str) -> tuple[Mistake, ...]:
    """Return the mistakes of one operation, in the order of the catalogue; none for one that has none."""
    return tuple(mistake for mistake in CATALOGUE if mistake.operation == operation)


def controls_of(operation: str) -> tuple[Control, ...]:
    """Return the controls of one operation, in their order; none for one that has none."""
    return tuple(control for control in CONTROLS if control.operation == operation)
