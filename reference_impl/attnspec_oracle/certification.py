"""Raise the precision until every element of an output is decided."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from flint import ctx

from attnspec_oracle.interface import OracleError
from attnspec_oracle.rounding import round_ball, round_fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from flint import arb
    from numpy.typing import NDArray

PRECISIONS = tuple(128 << doubling for doubling in range(8))
"""Working precisions in bits, 128 to 16384. A zero by cancellation needs about 2048 of them."""

Elements: TypeAlias = "Sequence[int] | None"
"""The flat indices of the elements of an output that are wanted; None for all."""

Outputs: TypeAlias = "Mapping[str, Callable[[Elements], NDArray[Any]]]"
"""Output name to a function that computes its wanted elements."""


class Quantity(Protocol):
    """A row of exact real numbers that can be enclosed as tightly as one likes."""

    def balls(self, positions: Sequence[int]) -> Sequence[arb]:
        """Enclose the numbers at some positions of the row at the working precision."""
        ...

    def rational(self, position: int) -> Fraction | None:
        """Give the exact number at a position where it is seen to be rational, else None.

        Only a rational number can lie exactly in the middle between two float64 numbers. There a ball decides
        nothing, however small, unless its radius is 0.
        """
        del position
        return None


def certify(
    output: str, row: Callable[[int], Quantity], shape: tuple[int, ...], elements: Elements = None
) -> NDArray[np.float64]:
    """Round the wanted elements of an output to the nearest float64.

    Parameters
    ----------
    output
        What to call the output when an element cannot be decided.
    row
        Gives a row of the output, by its row-major index. Rows without a wanted element are never requested.
    shape
        The shape of the output; its last axis is the width of a row.
    elements
        The flat indices of the wanted elements, or None for all.

    Returns
    -------
    NDArray[np.float64]
        The correctly rounded values; NaN where an element is not wanted.

    Raises
    ------
    ValueError
        When an index lies outside the output.
    OracleError
        When an element is undecided at the highest precision.
    """
    rounded = [math.nan] * math.prod(shape)
    undecided = _by_row(output, shape, elements)
    quantities = {index: row(index) for index in undecided}
    for precision in PRECISIONS:
        with ctx.workprec(precision):
            undecided = {
                index: left
                for index, positions in undecided.items()
                if (left := _decide(quantities[index], positions, rounded, index * shape[-1]))
            }
        if not undecided:
            return np.array(rounded, dtype=np.float64).reshape(shape)
    index, positions = next(iter(undecided.items()))
    index_of_element = np.unravel_index(index * shape[-1] + positions[0], shape)
    raise OracleError(
        f"{output}{[int(axis) for axis in index_of_element]} is undecided at {PRECISIONS[-1]} bits: its exact value "
        "lies on or next to the middle between two float64 numbers; change the inputs of the case a little."
    )


def only(output: str, array: NDArray[np.float64], elements: Elements) -> NDArray[np.float64]:
    """Put NaN instead of every element that is not wanted."""
    if elements is None:
        return array
    _check(output, array.shape, elements)
    chosen = np.full(array.size, np.nan)
    chosen[list(elements)] = array.ravel()[list(elements)]
    return chosen.reshape(array.shape)


def _check(output: str, shape: tuple[int, ...], elements: Sequence[int]) -> None:
    for element in elements:
        if not 0 <= element < math.prod(shape):
            raise ValueError(f"{output} has the shape {shape}; it has no element with the flat index {element}.")


def _by_row(output: str, shape: tuple[int, ...], elements: Elements) -> dict[int, Sequence[int]]:
    """Sort the wanted elements into rows: row to positions."""
    width = shape[-1]
    if elements is None:
        return dict.fromkeys(range(math.prod(shape[:-1])), range(width)) if width else {}
    _check(output, shape, elements)
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for element in sorted(set(elements)):
        rows[element // width].append(element % width)
    return dict(rows)


def _decide(quantity: Quantity, positions: Sequence[int], rounded: list[float], start: int) -> list[int]:
    """Fill in the elements that the working precision decides and give the positions of the others."""
    undecided: list[int] = []
    for position, ball in zip(positions, quantity.balls(positions), strict=True):
        value = round_ball(ball)
        if value is None and (exact := quantity.rational(position)) is not None:
            value = round_fraction(exact)
        if value is None:
            undecided.append(position)
        else:
            rounded[start + position] = value
    return undecided
