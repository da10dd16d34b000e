"""Tolerance of rotary frequencies and of their attention factor: relative errors, from formula to formula.

Every function carries a value and its error through one formula of the specification. An error in multiples of the unit
roundoff counts the roundings of the formula: of its parameters, of its products and quotients, and of the result.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import as_output
from attnspec.bounds.tolerance import Estimate, Precision


class _Share(NamedTuple):
    """A share between 0 and 1 before it is cut off there, and its absolute error."""

    uncut: NDArray[Any]
    error: Any


def inverse_frequencies(attributes: Mapping[str, Any], precision: Precision) -> Estimate:
    """Return value and tolerance of the frequencies (R/2,)."""
    unit: Any = precision.at_rank(1).accumulator
    width, scaling = attributes["width"], attributes.get("scaling", "none")
    base, of_base = float(attributes.get("theta", 10000.0)), 0.0
    if scaling == "dynamic":
        base, of_base = _base_of_dynamic(base, attributes, unit)
    exponents = 2.0 * np.arange(width // 2, dtype=np.float64) / width
    # The exponential of a logarithm times an exponent carries the rounding of its argument.
    relative = 2 * unit * (1 + exponents * abs(math.log(base))) + exponents * of_base
    powers = Estimate(base**-exponents, base**-exponents * relative)
    return as_output(_SCALED[scaling](powers, attributes, unit), precision)


def attention_factor(attributes: Mapping[str, Any], precision: Precision) -> Estimate:
    """Return value and tolerance of the attention factor ()."""
    unit: Any = precision.at_rank(0).accumulator
    scaling, given = attributes.get("scaling", "none"), attributes.get("attention_factor")
    if scaling not in ("longrope", "yarn"):
        value, relative = 1.0, 0.0 * unit
    elif given is not None:
        value, relative = given, unit
    elif scaling == "longrope":
        quotient = math.log(attributes["factor"]) / math.log(attributes["original_length"])
        value, relative = math.sqrt(1 + quotient), 2 * unit * quotient / (1 + quotient) + unit
    else:
        value, relative = _yarn_factor(attributes, unit)
    return as_output(Estimate(np.array(float(value)), np.asarray(abs(value) * relative)), precision)


def _base_of_dynamic(theta: float, attributes: Mapping[str, Any], unit: Any) -> tuple[float, Any]:
    """Return the base of ``dynamic`` and its relative error."""
    factor, original, width = attributes["factor"], attributes["original_length"], attributes["width"]
    longer = factor * max(original, attributes.get("sequence_length") or 0) / original
    stretch, exponent = longer - factor + 1, width / (width - 2)
    of_stretch = unit * (3 * longer + 2 * factor + stretch) / stretch
    of_power = 2 * unit * (1 + exponent * math.log(stretch)) + exponent * of_stretch
    return theta * stretch**exponent, of_power + 2 * unit


def _divided(powers: Estimate, divisor: Any, unit: Any) -> Estimate:
    value = powers.value / divisor
    return Estimate(value, powers.error / divisor + 2 * unit * value)


def _frequencies_of_longrope(powers: Estimate, attributes: Mapping[str, Any], unit: Any) -> Estimate:
    long = (attributes.get("sequence_length") or 0) > attributes["original_length"]
    return _divided(powers, np.array(attributes["long_factors" if long else "short_factors"], dtype=np.float64), unit)


def _frequencies_of_proportional(powers: Estimate, attributes: Mapping[str, Any], unit: Any) -> Estimate:
    factor = attributes.get("factor")
    divided = _divided(powers, 1.0 if factor is None else factor, unit)
    kept = np.arange(powers.value.size) < math.floor(attributes.get("proportion", 1.0) * powers.value.size)
    return Estimate(divided.value * kept, divided.error * kept)


def _frequencies_of_llama3(powers: Estimate, attributes: Mapping[str, Any], unit: Any) -> Estimate:
    low, high = attributes["low_frequency_factor"], attributes["high_frequency_factor"]
    waves = attributes["original_length"] * powers.value / (2 * math.pi)
    of_waves = attributes["original_length"] * powers.error / (2 * math.pi) + 3 * unit * waves
    uncut = (waves - low) / (high - low)
    error = (of_waves + unit * (waves + 2 * low)) / (high - low) + 4 * unit * np.abs(uncut)
    return _partly_divided_frequencies(powers, attributes["factor"], _Share(1 - uncut, error), unit)


def _frequencies_of_yarn(powers: Estimate, attributes: Mapping[str, Any], unit: Any) -> Estimate:
    low, of_low = _end_of_yarn_range(attributes.get("beta_fast", 32.0), attributes, unit)
    high, of_high = _end_of_yarn_range(attributes.get("beta_slow", 1.0), attributes, unit)
    if attributes.get("truncate", True):
        low, of_low, high, of_high = math.floor(low), 0.0 * unit, math.ceil(high), 0.0 * unit
    low, high = max(low, 0.0), min(high, attributes["width"] - 1.0)
    across = high - low if high != low else 0.001
    uncut = (np.arange(powers.value.size) - low) / across
    error = (of_low * np.abs(1 - uncut) + of_high * np.abs(uncut)) / abs(across) + 2 * unit * np.abs(uncut)
    return _partly_divided_frequencies(powers, attributes["factor"], _Share(uncut, error), unit)


def _end_of_yarn_range(turns: float, attributes: Mapping[str, Any], unit: Any) -> tuple[float, Any]:
    """Return an end of the range of ``yarn`` and its absolute error."""
    logarithm = math.log(attributes["original_length"] / (2 * math.pi * turns))
    half_of_pairs = attributes["width"] / (2 * math.log(attributes.get("theta", 10000.0)))
    end = half_of_pairs * logarithm
    return end, half_of_pairs * 3 * unit + 4 * unit * abs(end)


def _partly_divided_frequencies(powers: Estimate, factor: float, divided_share: _Share, unit: Any) -> Estimate:
    """Return frequencies of which a share is divided by the factor.

    The share itself is kept as 1 minus another one by some, so that its rounding is absolute.
    """
    share = np.clip(divided_share.uncut, 0.0, 1.0)
    divided = powers.value / factor
    value = share * divided + (1 - share) * powers.value
    inside = (divided_share.uncut > -divided_share.error) & (divided_share.uncut < 1 + divided_share.error)
    of_share = inside * (divided_share.error + 2 * unit) * np.abs(powers.value - divided)
    relative = powers.error / powers.value
    return Estimate(value, value * (relative + 3 * unit) + of_share)


def _yarn_factor(attributes: Mapping[str, Any], unit: Any) -> tuple[float, Any]:
    """Return the attention factor of ``yarn`` and its relative error."""
    both = [attributes.get(f"magnitude_scaling{suffix}") for suffix in ("", "_all_dimensions")]
    if not all(both):
        return _magnitude(attributes["factor"], 1.0), 3 * unit
    upper, lower = (_magnitude(attributes["factor"], coefficient) for coefficient in both if coefficient is not None)
    return upper / lower, 7 * unit


def _magnitude(factor: float, coefficient: float) -> float:
    return 0.1 * coefficient * math.log(factor) + 1


_SCALED: Mapping[str, Callable[[Estimate, Mapping[str, Any], Any], Estimate]] = {
    "none": lambda powers, _, __: powers,
    "dynamic": lambda powers, _, __: powers,
    "linear": lambda powers, attributes, unit: _divided(powers, attributes["factor"], unit),
    "llama3": _frequencies_of_llama3,
    "longrope": _frequencies_of_longrope,
    "proportional": _frequencies_of_proportional,
    "yarn": _frequencies_of_yarn,
}
