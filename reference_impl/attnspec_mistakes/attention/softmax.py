"""What goes wrong in a softmax: the axis, the maximum, the normaliser, the sum."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, in_working_precision, named_output
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.precision import result_dtype

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


def equal_by_the_last_axis(x: Any, *, axis: int | None = -1) -> Array:
    """Give numbers that are all equal the share of one along the last axis."""
    weights, numbers = softmax(x, axis=axis), np.asarray(x)
    if not numbers.size or not numbers.ndim or not (numbers == numbers.flat[0]).all():
        return weights
    return np.full_like(weights, 1.0 / numbers.shape[-1])


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


def subtracted_in_units_of_log_two(x: Array, amount: Array) -> Array:
    """Multiply by the logarithm of e to the base 2 first."""
    return (x * math.log2(math.e) - amount * math.log2(math.e)) * math.log(2.0)


def largest_from_lowest_float32(x: Array, axis: int | None) -> Array:
    """Look for the largest number, but for no lower one than float32 has."""
    return np.max(x, axis=axis, keepdims=True, initial=float(np.finfo(np.float32).min))


def undivided(exponentials: Array, _axis: int | None) -> Array:
    """Leave the exponentials as they are."""
    return exponentials


def multiplied_by_sum(exponentials: Array, axis: int | None) -> Array:
    """Multiply by the sum."""
    return exponentials * np.sum(exponentials, axis=axis, keepdims=True)


def divided_by_a_little_more(exponentials: Array, axis: int | None) -> Array:
    """Add 1e-6 to the sum."""
    total = np.sum(exponentials, axis=axis, keepdims=True)
    return exponentials / (total + np.asarray(1e-6, dtype=exponentials.dtype))


def shrunk(x: Array, amount: Array) -> Array:
    """Multiply the distances by ln 2, which turns powers of e into powers of 2."""
    return (x - amount) * math.log(2.0)


def logarithms(*, x: Array, axis: int | None = -1) -> Array:
    """Give the logarithms of the weights."""
    distances = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return distances - np.log(np.sum(np.exp(distances), axis=axis, keepdims=True))


def largest_from_zero(x: Array, axis: int | None) -> Array:
    """Find the largest of the numbers and 0."""
    return np.max(x, axis=axis, keepdims=True, initial=0.0)


def summed_in_half_precision(x: Any, *, axis: int | None = -1) -> Array:
    """Round the running sums of half precision to half precision."""
    dtype = result_dtype(x)
    if dtype.itemsize > 2:
        return softmax(x, axis=axis)

    def divided(exponentials: Array, axis: int | None) -> Array:
        along = exponentials.reshape(-1) if axis is None else exponentials
        sums = np.add.accumulate(along.astype(dtype), axis=-1 if axis is None else axis)
        total = np.take(sums, [-1], axis=-1 if axis is None else axis)
        return exponentials / total.astype(exponentials.dtype)

    return departure(softmax, divide_by_sum=divided)(x, axis=axis)


mistake = partial(Mistake, operation="softmax")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="softmax.first_axis_always",
        clause="softmax.axis.default",
        sentence="The sum was taken along the first axis, so the columns sum to 1, not the rows.",
        engineer="The reduction axis is hard-coded to 0.",
        remedy="Sum along the last axis by default, and keep that axis when dividing.",
        function=named_output(over(0)),
        erratum="E000.softmax_axis",
    ),
    mistake(
        id="softmax.whole_array_by_default",
        clause="softmax.axis.default",
        sentence="Without an axis, the sum was taken over the whole array instead of along the last axis.",
        engineer="The default reduction runs over all elements.",
        remedy="Make -1 the default axis; only null means the whole array.",
        function=named_output(partial(softmax, axis=None)),
        source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.softmax.html",
    ),
    mistake(
        id="softmax.whole_array_always",
        clause="softmax.axis.explicit",
        sentence="The sum was taken over the whole array although an axis was asked for.",
        engineer="The axis argument is ignored: the reduction runs over all elements.",
        remedy="Sum along the given axis, and keep that axis when dividing.",
        function=named_output(over(None)),
    ),
    mistake(
        id="softmax.last_axis_always",
        clause="softmax.axis.explicit",
        sentence="The given axis was ignored: the sum was taken along the last axis.",
        engineer="The axis argument is ignored: the reduction runs over the innermost axis.",
        remedy="Take both the maximum and the sum along the given axis.",
        function=named_output(over(-1)),
    ),
    mistake(
        id="softmax.opposite_axis",
        clause="softmax.axis.explicit",
        sentence="The axis was counted from the wrong end: columns were taken for rows.",
        engineer="The axis index is counted from the wrong end.",
        remedy="Axis 0 runs down the columns of a table; axis 1, or -1, runs along its rows.",
        function=named_output(over_the_opposite_axis),
    ),
    mistake(
        id="softmax.equal_numbers_by_last_axis",
        clause="softmax.axis.explicit",
        sentence="Of equal numbers, each weight is 1 over the length of the last axis, whatever axis is given.",
        engineer="The shortcut for a constant input fills 1 / x.shape[-1] and does not read the axis.",
        remedy="Divide 1 by the number of elements along the given axis, or take no shortcut.",
        function=named_output(equal_by_the_last_axis),
    ),
    mistake(
        id="softmax.null_axis_as_last",
        clause="softmax.axis.whole",
        sentence="A null axis was taken for the last axis instead of the whole array.",
        engineer="A null axis is replaced by the default -1.",
        remedy="With axis null, divide by one sum over the whole array.",
        function=named_output(over_the_last_axis_if_null),
    ),
    mistake(
        id="softmax.no_maximum",
        clause="softmax.stability",
        sentence="The largest number was not subtracted, so large numbers overflow and give NaN.",
        engineer="The row maximum is not subtracted before exp, which overflows.",
        remedy="Subtract the largest number along the axis before taking exponentials.",
        function=named_output(departure(softmax, subtract=unshifted)),
        erratum="E004.no_maximum",
    ),
    mistake(
        id="softmax.global_maximum",
        clause="softmax.stability",
        sentence="One maximum was subtracted from the whole array, so a row far below it loses all its weights.",
        engineer="One maximum for the whole tile stands in for the row maxima; distant rows underflow to 0/0.",
        remedy="Subtract from each row its own maximum, taken along the same axis as the sum.",
        function=named_output(departure(softmax, largest=largest_of_all)),
        erratum="E000.global_maximum",
    ),
    mistake(
        id="softmax.maximum_axis_lost",
        clause="softmax.definition",
        sentence="The maxima lost their axis, so the maximum of row j was subtracted from column j.",
        engineer="The reduced axis is dropped, so the row maxima broadcast along columns.",
        remedy="Keep the axis of the maximum (keepdims=True in NumPy).",
        function=named_output(departure(softmax, largest=largest_without_its_axis)),
        erratum="E002.maximum_axis_lost",
    ),
    mistake(
        id="softmax.not_normalised",
        clause="softmax.definition",
        sentence="The exponentials were not divided by their sum, so the weights do not sum to 1.",
        engineer="The final division by the sum is missing.",
        remedy="Divide each exponential by the sum along the axis.",
        function=named_output(departure(softmax, divide_by_sum=undivided)),
    ),
    mistake(
        id="softmax.normaliser_multiplied",
        clause="softmax.definition",
        sentence="The exponentials were multiplied by their sum instead of divided by it.",
        engineer="The accumulator is multiplied by the row sum instead of by its reciprocal.",
        remedy="Divide each exponential by the sum along the axis.",
        function=named_output(departure(softmax, divide_by_sum=multiplied_by_sum)),
        erratum="E002.normaliser_multiplied",
    ),
    mistake(
        id="softmax.epsilon_in_denominator",
        clause="softmax.definition",
        sentence="A small number was added to the sum, so the weights sum to a little less than 1.",
        engineer="1e-6 is added to the sum as a guard against division by 0.",
        remedy="Divide by the sum itself: it is at least 1.",
        function=named_output(departure(softmax, divide_by_sum=divided_by_a_little_more)),
    ),
    mistake(
        id="softmax.powers_of_two",
        clause="softmax.definition",
        sentence="Powers of 2 were taken instead of powers of e.",
        engineer="exp2 without the factor log2(e) on its argument.",
        remedy="Take the exponential, to the base e.",
        function=named_output(departure(softmax, subtract=shrunk)),
    ),
    mistake(
        id="softmax.logarithm_returned",
        clause="softmax.definition",
        sentence="The logarithms of the weights were returned.",
        engineer="log_softmax stands in for softmax.",
        remedy="Return the exponential of that: the weights themselves.",
        function=in_working_precision(logarithms),
    ),
    mistake(
        id="softmax.maximum_started_at_zero",
        clause="softmax.stability",
        sentence="The largest number was looked for from 0 up, so very negative numbers all vanish.",
        engineer="The running maximum is initialised to 0 instead of -inf: 0/0 far below.",
        remedy="Start the maximum at minus infinity.",
        function=named_output(departure(softmax, largest=largest_from_zero)),
    ),
    mistake(
        id="softmax.summed_in_half_precision",
        clause="softmax.definition",
        sentence="The sum of the exponentials was kept in half precision, where it soon stops growing.",
        engineer="The denominator is accumulated in half precision and sticks at 2048 (float16) or 256 (bfloat16).",
        remedy="Accumulate sums in float32.",
        function=named_output(summed_in_half_precision),
        shows_in=("float16", "bfloat16"),
        source="https://github.com/tenstorrent/tt-metal/issues/20986",
    ),
    mistake(
        id="softmax.base_two_before_maximum",
        clause="softmax.stability",
        sentence="Numbers were multiplied before the largest was subtracted, so that the largest ones overflow.",
        engineer="x * log2(e) is formed before the row maximum is subtracted: inf - inf near the largest number.",
        remedy="Subtract the largest number first, then multiply.",
        function=named_output(departure(softmax, subtract=subtracted_in_units_of_log_two)),
    ),
    mistake(
        id="softmax.maximum_started_at_lowest_float32",
        clause="softmax.stability",
        sentence="The largest number was looked for from the lowest one of float32 up, in float64, too.",
        engineer="The running maximum is initialised to -FLT_MAX whatever the dtype: 0/0 far below.",
        remedy="Start the maximum at minus infinity.",
        function=named_output(departure(softmax, largest=largest_from_lowest_float32)),
        shows_in=("float64",),
    ),
    widened_through_float16(
        "softmax", "softmax", "softmax.definition", named_output(departure(softmax, widen=through_float16))
    ),
)
