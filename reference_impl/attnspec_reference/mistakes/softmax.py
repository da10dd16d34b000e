"""What goes wrong in a softmax: the axis, the maximum, the normaliser."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.departures import departure, named_output
from attnspec_reference.mistakes.mistake import Mistake
from attnspec_reference.softmax import softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_reference.precision import Array


def over(axis: int | None) -> Callable[..., Array]:
    """Make a softmax that always takes this axis, whatever axis it is asked for."""

    def softmax_over_one_axis(x: Any, **_asked: Any) -> Array:
        return softmax(x, axis=axis)

    return softmax_over_one_axis


def over_the_opposite_axis(x: Any, *, axis: int | None = -1) -> Array:
    """Count the axis from the wrong end."""
    return softmax(x, axis=None if axis is None else -1 - axis)


def over_the_last_axis_if_null(x: Any, *, axis: int | None = -1) -> Array:
    """Take "no axis" for "the default axis"."""
    return softmax(x, axis=-1 if axis is None else axis)


def unshifted(x: Array, _amount: Array) -> Array:
    """Subtract nothing."""
    return x


def largest_of_all(x: Array, _axis: int | None) -> Array:
    """Find one maximum for the whole array."""
    return np.max(x, initial=-np.inf)


def largest_without_its_axis(x: Array, axis: int | None) -> Array:
    """Find the largest number along the axis, and lose that axis."""
    if axis is not None and len(set(x.shape)) > 1:
        raise ValueError(f"x has shape {x.shape}; without its axis the maximum only fits axes of equal length.")
    return np.max(x, axis=axis)


def undivided(exponentials: Array, _axis: int | None) -> Array:
    """Leave the exponentials as they are."""
    return exponentials


def multiplied_by_sum(exponentials: Array, axis: int | None) -> Array:
    """Multiply by the sum."""
    return exponentials * np.sum(exponentials, axis=axis, keepdims=True)


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="softmax.first_axis_always",
        operation="softmax",
        clause="softmax.axis.default",
        sentence="The sum was taken along the first axis, so the columns sum to 1, not the rows.",
        remedy="Sum along the last axis by default, and keep that axis when dividing.",
        function=named_output(over(0)),
        erratum="E000.softmax_axis",
    ),
    Mistake(
        id="softmax.whole_array_by_default",
        operation="softmax",
        clause="softmax.axis.default",
        sentence="Without an axis, the sum was taken over the whole array instead of along the last axis.",
        remedy="Make -1 the default axis; only null means the whole array.",
        function=named_output(partial(softmax, axis=None)),
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.softmax.html",
    ),
    Mistake(
        id="softmax.whole_array_always",
        operation="softmax",
        clause="softmax.axis.explicit",
        sentence="The sum was taken over the whole array although an axis was asked for.",
        remedy="Sum along the given axis, and keep that axis when dividing.",
        function=named_output(over(None)),
    ),
    Mistake(
        id="softmax.last_axis_always",
        operation="softmax",
        clause="softmax.axis.explicit",
        sentence="The given axis was ignored: the sum was taken along the last axis.",
        remedy="Take both the maximum and the sum along the given axis.",
        function=named_output(over(-1)),
    ),
    Mistake(
        id="softmax.opposite_axis",
        operation="softmax",
        clause="softmax.axis.explicit",
        sentence="The axis was counted from the wrong end: columns were taken for rows.",
        remedy="Axis 0 runs down the columns of a table; axis 1, or -1, runs along its rows.",
        function=named_output(over_the_opposite_axis),
    ),
    Mistake(
        id="softmax.null_axis_as_last",
        operation="softmax",
        clause="softmax.axis.whole",
        sentence="A null axis was taken for the last axis instead of the whole array.",
        remedy="With axis null, divide by one sum over the whole array.",
        function=named_output(over_the_last_axis_if_null),
    ),
    Mistake(
        id="softmax.no_maximum",
        operation="softmax",
        clause="softmax.stability",
        sentence="The largest number was not subtracted, so large numbers overflow and give NaN.",
        remedy="Subtract the largest number along the axis before taking exponentials.",
        function=named_output(departure(softmax, subtract=unshifted)),
        erratum="E004.no_maximum",
    ),
    Mistake(
        id="softmax.global_maximum",
        operation="softmax",
        clause="softmax.stability",
        sentence="One maximum was subtracted from the whole array, so a row far below it loses all its weights.",
        remedy="Subtract from each row its own maximum, taken along the same axis as the sum.",
        function=named_output(departure(softmax, largest=largest_of_all)),
        erratum="E000.global_maximum",
    ),
    Mistake(
        id="softmax.maximum_axis_lost",
        operation="softmax",
        clause="softmax.stability",
        sentence="The maxima lost their axis, so the maximum of row j was subtracted from column j.",
        remedy="Keep the axis of the maximum (keepdims=True in NumPy).",
        function=named_output(departure(softmax, largest=largest_without_its_axis)),
        erratum="E002.maximum_axis_lost",
    ),
    Mistake(
        id="softmax.not_normalised",
        operation="softmax",
        clause="softmax.definition",
        sentence="The exponentials were not divided by their sum, so the weights do not sum to 1.",
        remedy="Divide each exponential by the sum along the axis.",
        function=named_output(departure(softmax, divide_by_sum=undivided)),
    ),
    Mistake(
        id="softmax.normaliser_multiplied",
        operation="softmax",
        clause="softmax.definition",
        sentence="The exponentials were multiplied by their sum instead of divided by it.",
        remedy="Divide each exponential by the sum along the axis.",
        function=named_output(departure(softmax, divide_by_sum=multiplied_by_sum)),
        erratum="E002.normaliser_multiplied",
    ),
)
