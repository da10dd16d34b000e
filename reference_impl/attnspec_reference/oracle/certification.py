"""Raise the precision until every element of an output is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from flint import ctx

from attnspec_reference.oracle import OracleError
from attnspec_reference.oracle.rounding import round_ball, round_fraction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from flint import arb
    from numpy.typing import NDArray

PRECISIONS = tuple(128 << doubling for doubling in range(8))
"""Working precisions in bits, 128 to 16384. A zero by cancellation needs about 2048 of them."""


class Quantity(Protocol):
    """A row of exact real numbers that can be enclosed as tightly as one likes."""

    def balls(self) -> Sequence[arb]:
        """Enclose every number of the row at the working precision."""
        ...

    def rational(self, position: int) -> Fraction | None:
        """Give the exact number at a position where it is seen to be rational, else None.

        Only a rational number can lie exactly in the middle between two float64 numbers. There a ball decides
        nothing, however small, unless its radius is 0.
        """
        del position
        return None


def certify(output: str, quantities: Sequence[Quantity], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Round every element of an output to the nearest float64.

    Parameters
    ----------
    output
        What to call the output when an element cannot be decided.
    quantities
        The rows of the output, in row-major order.
    shape
        The shape of the output; its last axis is the width of a quantity.

    Returns
    -------
    NDArray[np.float64]
        The correctly rounded values.

    Raises
    ------
    OracleError
        When an element is undecided at the highest precision.
    """
    rounded = np.zeros((len(quantities), shape[-1]))
    undecided = {row: list(range(shape[-1])) for row in range(len(quantities))}
    for precision in PRECISIONS:
        with ctx.workprec(precision):
            undecided = {
                row: left
                for row, positions in undecided.items()
                if (left := _decide(quantities[row], positions, rounded[row]))
            }
        if not undecided:
            return rounded.reshape(shape)
    row, positions = next(iter(undecided.items()))
    index = np.unravel_index(row * shape[-1] + positions[0], shape)
    raise OracleError(
        f"{output}{[int(axis) for axis in index]} is undecided at {PRECISIONS[-1]} bits: its exact value "
        "lies on or next to the middle between two float64 numbers; change the inputs of the case a little."
    )


def _decide(quantity: Quantity, positions: Sequence[int], rounded: NDArray[np.float64]) -> list[int]:
    """Fill in the elements that the working precision decides and give the positions of the others."""
    balls = quantity.balls()
    undecided: list[int] = []
    for position in positions:
        value = round_ball(balls[position])
        if value is None and (exact := quantity.rational(position)) is not None:
            value = round_fraction(exact)
        if value is None:
            undecided.append(position)
        else:
            rounded[position] = value
    return undecided
