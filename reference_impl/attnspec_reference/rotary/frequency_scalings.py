"""Scalings: what is done to rotary frequencies so that a model reads longer texts than it was trained on.

The checks refuse widths without pairs, unknown scalings, and parameters that are missing or make no sense; each other
function is one formula. Part of rotary frequencies, whose page is ``spec/operations/rotary/rotary_frequencies.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array

NEEDED: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": ("factor",),
    "yarn": ("factor", "original_length"),
}
"""Every scaling, with the parameters that it cannot do without."""


def check_width(width: int) -> None:
    """Refuse a number of features that does not make pairs."""
    if width < 2 or width % 2:
        raise ValueError(f"width is {width}; features turn in pairs, so it needs an even number of at least 2.")


def needed_parameters(scaling: str, **given: Any) -> Mapping[str, Any]:
    """Pick the parameters that a scaling needs, and refuse an unknown scaling and a parameter that is missing."""
    if scaling not in NEEDED:
        raise ValueError(f"scaling is {scaling!r}; it must be one of {', '.join(NEEDED)}.")
    if scaling == "proportional" and given["factor"] is None:
        given["factor"] = 1.0
    for name in NEEDED[scaling]:
        if given[name] is None:
            raise ValueError(f"scaling is {scaling!r}, which needs {name}; it is not given.")
    return {name: given[name] for name in NEEDED[scaling]}


def check_ranges(scaling: str, width: int, theta: float, proportion: float, needed: Mapping[str, Any]) -> None:
    """Refuse numbers for which the formula of the scaling divides by zero, has no logarithm, or means nothing."""
    if not theta > 0 or (scaling == "yarn" and theta <= 1):
        raise ValueError(f"theta is {theta}; it must be above 0, and above 1 for yarn.")
    if "factor" in needed and not needed["factor"] > 0:
        raise ValueError(f"factor is {needed['factor']}; it must be above 0.")
    if scaling == "dynamic" and width < 4:
        raise ValueError(f"width is {width}; dynamic scaling needs at least 4, for its exponent is R / (R - 2).")
    if scaling == "llama3" and not needed["low_frequency_factor"] < needed["high_frequency_factor"]:
        raise ValueError(
            f"low_frequency_factor is {needed['low_frequency_factor']}, high_frequency_factor "
            f"{needed['high_frequency_factor']}; the low one must be below the high one."
        )
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError(f"proportion is {proportion}; it must lie between 0 and 1.")


def check_factor_lists(width: int, needed: Mapping[str, Any]) -> None:
    """Refuse lists of factors that do not hold one number for each pair."""
    for name in ("short_factors", "long_factors"):
        if name in needed and np.shape(needed[name]) != (width // 2,):
            raise ValueError(
                f"{name} has the shape {np.shape(needed[name])}; {width} features make {width // 2} pairs, and each "
                "needs a factor of its own."
            )


def stretch_base(theta: float, width: int, factor: float, original_length: int, sequence_length: int | None) -> float:
    """Enlarge the base with the length of the text (``dynamic``); up to the original length it is theta."""
    length = longer(original_length, sequence_length)
    stretch = factor * length / original_length - (factor - 1.0)
    return theta * math.pow(stretch, exponent_of_stretch(width))


def longer(original_length: int, sequence_length: int | None) -> int:
    """Take the length of the text, and never less than the original length."""
    return original_length if sequence_length is None else max(original_length, sequence_length)


def exponent_of_stretch(width: int) -> float:
    """Give the exponent for which the last frequency, -(R - 2)/R, is divided by the stretch itself."""
    return width / (width - 2)


def divide(frequencies: Array, divisor: ArrayLike) -> Array:
    """Divide the frequencies by one number, or each by its own."""
    return frequencies / np.asarray(divisor, dtype=np.float64)


def scale_long_waves(
    frequencies: Array, factor: float, original_length: int, low_frequency_factor: float, high_frequency_factor: float
) -> Array:
    """Divide the frequencies of long waves, keep those of short ones, and mix in between (``llama3``)."""
    kept = share_kept(waves_within(original_length, frequencies), low_frequency_factor, high_frequency_factor)
    return mix(frequencies, divide(frequencies, factor), kept)


def waves_within(original_length: int, frequencies: Array) -> Array:
    """Count the full turns of each pair within the original length; a turn is a wave of 2 pi / f positions."""
    return original_length * frequencies / (2.0 * math.pi)


def share_kept(waves: Array, low_frequency_factor: float, high_frequency_factor: float) -> Array:
    """Rise from 0 at the low number of waves to 1 at the high one."""
    return np.clip((waves - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0.0, 1.0)


def mix(frequencies: Array, divided: Array, kept: Array) -> Array:
    """Take the share that is kept of the frequencies, and the rest of the divided ones."""
    return kept * frequencies + (1.0 - kept) * divided


def choose_factors(
    short_factors: Sequence[float], long_factors: Sequence[float], original_length: int, sequence_length: int | None
) -> Sequence[float]:
    """Take the factors for long texts beyond the original length, and those for short ones up to it (``longrope``)."""
    return long_factors if longer(original_length, sequence_length) > original_length else short_factors


def keep_first(frequencies: Array, proportion: float) -> Array:
    """Keep the first frequencies, as many as the proportion of all says, and stop the others (``proportional``)."""
    kept = math.floor(proportion * len(frequencies))
    return np.where(np.arange(len(frequencies)) < kept, frequencies, 0.0)


def blending_range(
    width: int, theta: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool
) -> tuple[float, float]:
    """Find the pairs between which frequencies are blended (``yarn``)."""
    low = pair_of_turns(beta_fast, width, theta, original_length)
    high = pair_of_turns(beta_slow, width, theta, original_length)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return clamp(low, high, width)


def pair_of_turns(turns: float, width: int, theta: float, original_length: int) -> float:
    """Find the pair, seldom a whole number, that turns so many times within the original length."""
    return width * math.log(original_length / (2.0 * math.pi * turns)) / (2.0 * math.log(theta))


def clamp(low: float, high: float, width: int) -> tuple[float, float]:
    """Keep the lower end from falling below the first pair, and the upper one from rising beyond R - 1."""
    # R - 1 lies beyond the last pair, R/2 - 1. The first implementations had it so, and models were trained with it.
    return max(low, 0.0), min(high, width - 1.0)


def ramp(low: float, high: float, pairs: int) -> Array:
    """Rise from 0 at the lower end of the range to 1 at its upper end."""
    if low == high:
        # So wide a range divides no two pairs, and spares a division by zero.
        high = high + 0.001
    return np.clip((np.arange(pairs) - low) / (high - low), 0.0, 1.0)


def blend(frequencies: Array, divided: Array, divided_share: Array) -> Array:
    """Take the share of the divided frequencies, and the rest of the others."""
    return divided_share * divided + (1.0 - divided_share) * frequencies


def longrope_attention_factor(factor: float, original_length: int) -> float:
    """Give the square root of 1 + ln s / ln L0."""
    return math.sqrt(1.0 + math.log(factor) / math.log(original_length))


def yarn_attention_factor(
    factor: float, magnitude_scaling: float | None, magnitude_scaling_all_dimensions: float | None
) -> float:
    """Give the magnitude for the factor, or the quotient of two where both coefficients are given and not 0."""
    if magnitude_scaling and magnitude_scaling_all_dimensions:
        return magnitude(factor, magnitude_scaling) / magnitude(factor, magnitude_scaling_all_dimensions)
    return magnitude(factor, 1.0)


def magnitude(factor: float, coefficient: float) -> float:
    """Give 0.1 a ln s + 1."""
    return 0.1 * coefficient * math.log(factor) + 1.0
