"""The tolerance of every output of every operation of rotary positions, and outputs that an overflow leaves open."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import as_output, exactly
from attnspec.bounds.tolerance import Estimate, Interval, Precision, Tolerance, deferred, identity
from attnspec.families.record import Arrays, Expected
from attnspec.families.rotary.frequency_tolerance import attention_factor, inverse_frequencies

_CONVENTION = "half_precision_overflow"


class RotationBound(Tolerance):
    """Values and tolerances of rotated features (B, H, S, E), and which of them an overflow of a product reaches.

    `products` holds the larger absolute product of each; 0 for features that stay.
    """

    def __init__(self, output: Estimate, products: NDArray[Any], precision: Precision) -> None:
        super().__init__(deferred(output=output))
        self._products = products
        self._precision = precision

    def overflowed(self, run: int) -> NDArray[np.bool_]:
        """Return the features of a run of which a product is larger than what its dtype holds."""
        largest = np.ravel(self._precision.largest)
        return self._products > largest[run if largest.size > 1 else 0]


def expected(outputs: Arrays, conventions: Mapping[str, str], bound: Tolerance, run: int) -> Expected:
    """Return the expected outputs under declared conventions, as :class:`attnspec.families.record.Family` has it."""
    if isinstance(bound, RotationBound) and conventions[_CONVENTION] == "open":
        elements = bound.overflowed(run)
        if elements.any():
            return Expected(outputs, {"output": elements}, (f"{_CONVENTION}=open",))
    return Expected(outputs, {}, ())


def paired_features(pairs: int, pairing: str) -> tuple[slice, slice]:
    """Return the first and the second features of `pairs` pairs, ``half`` or ``interleaved``.

    The clauses ``pairing.half`` and ``pairing.interleaved`` of ``apply_rotary``.
    """
    if pairing == "interleaved":
        return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    return slice(pairs), slice(pairs, 2 * pairs)


def tolerance(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, conventions: Mapping[str, str]
) -> Tolerance:
    """Return values and tolerances of the outputs of a case, as `ToleranceModel` has it."""
    del conventions
    with np.errstate(all="ignore"):
        return _BY_OPERATION[operation](inputs, attributes, precision)


def _frequencies_tolerance(_: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    return Tolerance(
        {
            "inverse_frequencies": partial(inverse_frequencies, attributes, precision),
            "attention_factor": partial(attention_factor, attributes, precision),
        }
    )


def _tables_tolerance(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    phases = inputs["position_ids"][:, :, np.newaxis] * exactly(inputs["inverse_frequencies"]).value
    factor = float(attributes.get("attention_factor", 1.0))
    cos, sin = np.cos(phases), np.sin(phases)
    estimates = {
        "cos": _table_estimate(cos, sin, phases, factor, precision),
        "sin": _table_estimate(sin, cos, phases, factor, precision),
    }
    # A number between -1 and 1 that may be off by 1 says nothing.
    vacuous = {name: partial(_vacuous_elements, estimate, abs(factor)) for name, estimate in estimates.items()}
    farthest = _table_estimate(np.ones_like(cos), np.zeros_like(cos), np.zeros_like(cos), abs(factor), precision)
    interval = Interval(-farthest.value - farthest.error, farthest.value + farthest.error)
    return Tolerance(deferred(**estimates), vacuous, interval={name: partial(identity, interval) for name in estimates})


def _table_estimate(
    table: NDArray[Any], slope: NDArray[Any], phases: NDArray[Any], factor: float, precision: Precision
) -> Estimate:
    """Return value and tolerance of cosines or sines, of which the other table is the slope.

    Phases are products in the accumulator whatever the dtype: rounded once, and once more where the frequencies do not
    come in it.
    """
    at_rank = precision.at_rank(phases.ndim)
    roundings = 1 + (at_rank.accumulator > at_rank.output)
    of_phase = roundings * at_rank.accumulator * np.abs(phases)
    of_function = of_phase * np.abs(slope) + of_phase**2 / 2 + 2 * at_rank.accumulator * np.abs(table)
    product = abs(factor) * (of_function + (at_rank.accumulator + at_rank.stored) * np.abs(table))
    return as_output(Estimate(factor * table, product), precision)


def _vacuous_elements(estimate: Estimate, half_of_range: float) -> NDArray[np.bool_]:
    # A range of 0, where the factor is 0, makes no tolerance vacuous.
    return (half_of_range > 0) & (estimate.error > half_of_range)


def _rotation_tolerance(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    x = exactly(inputs["x"]).value
    cos, sin = (exactly(inputs[name]).value[:, np.newaxis] for name in ("cos", "sin"))
    pairs = paired_features(cos.shape[-1], attributes.get("pairing", "half"))
    first, second = (x[..., features] for features in pairs)
    value = x.copy()
    # An axis for the runs that a precision stands for, where it stands for several.
    error, largest = np.zeros((*np.shape(precision.output), *x.shape)), np.zeros(x.shape)
    for features, products in zip(pairs, ((cos * first, -sin * second), (sin * first, cos * second)), strict=True):
        turned = sum_of_products(*products, precision)
        value[..., features], error[..., features] = turned.value, turned.error
        largest[..., features] = np.fmax(*map(np.abs, products))
    return RotationBound(Estimate(value, error), largest, precision)


def sum_of_products(left: NDArray[Any], right: NDArray[Any], precision: Precision) -> Estimate:
    """Return value and tolerance of the sum of two products.

    With three roundings and no more this is a worst case, and needs no doubling: each product is rounded as it is
    stored, and so is the sum. Factors that do not come in the accumulator are rounded before.
    """
    value = left + right
    precision = precision.at_rank(value.ndim)
    roundings = 1 + 2 * (precision.accumulator > precision.output)
    of_products = roundings * precision.stored * (np.abs(left) + np.abs(right))
    of_sum = np.maximum(precision.accumulator, precision.output) * np.abs(value)
    error = (of_products + of_sum) * (1 + precision.stored) + precision.accumulator * np.abs(value)
    return Estimate(value, error + 3 * precision.smallest)


_BY_OPERATION: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any], Precision], Tolerance]] = {
    "rotary_frequencies": _frequencies_tolerance,
    "rotary_tables": _tables_tolerance,
    "apply_rotary": _rotation_tolerance,
}
