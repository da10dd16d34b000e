"""What an element is held to whose tolerance says nothing: to be finite, and to lie where any such number must lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.comparison.expectation import Values
    from attnspec.comparison.run import Run


class Held(NamedTuple):
    """The elements of an output that are held to their reach alone.

    Attributes
    ----------
    elements
        Which ones: what is owed is finite, and its tolerance says nothing.
    lowest, highest
        Between which numbers they lie (same shape); infinite where they need only be finite.
    """

    elements: NDArray[np.bool_]
    lowest: NDArray[Any]
    highest: NDArray[Any]

    def within(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which numbers are finite and lie within the reach."""
        return np.isfinite(numbers) & (numbers >= self.lowest) & (numbers <= self.highest)


def left_open(run: Run, expected: Values, name: str) -> NDArray[np.bool_] | None:
    """Return the elements of an output that may hold anything, or None for none."""
    assert run.bound is not None
    return either(run.bound.unowed.get(name), expected.ungraded.get(name))


def held(run: Run, expected: Values, name: str, place: int) -> Held | None:
    """Return the elements of an output that are held to their reach alone, or None for none.

    Parameters
    ----------
    run
        What was asked.
    expected
        What it owes.
    name
        The output.
    place
        The place of the run, or of its fused grade, among those that its tolerances stand for.
    """
    assert run.bound is not None
    vacuous, tolerance = run.bound.vacuous(name, place), run.bound.of(name, place).error
    # A finite sum has finite terms.
    if not math.isfinite(tolerance.sum()):
        vacuous = either(vacuous, ~np.isfinite(tolerance))
    if vacuous is None or not vacuous.any():
        return None
    owed, open_elements = expected.outputs[name], left_open(run, expected, name)
    elements = vacuous & np.isfinite(owed)
    if open_elements is not None:
        elements &= ~open_elements
    if not elements.any():
        return None
    reach = run.bound.reach(name, place)
    ends = (-np.inf, np.inf) if reach is None else reach
    return Held(elements, *(np.broadcast_to(end, owed.shape) for end in ends))


def either(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return where one of two holds; None is nowhere."""
    if one is None or other is None:
        return other if one is None else one
    return one | other
