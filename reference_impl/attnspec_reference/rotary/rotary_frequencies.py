"""Rotary frequencies: how fast each pair of features turns from one position to the next.

The first pair turns by one radian a position, the others ever more slowly. What is done to the frequencies to make a
model read longer texts than it was trained on is called their scaling. The specification page is
``spec/operations/rotary/rotary_frequencies.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnspec_reference.precision import Array, quietly
from attnspec_reference.rotary.frequency_scalings import (
    blend,
    blending_range,
    check_factor_lists,
    check_ranges,
    check_width,
    choose_factors,
    divide,
    keep_first,
    longrope_attention_factor,
    needed_parameters,
    ramp,
    scale_long_waves,
    stretch_base,
    yarn_attention_factor,
)


class RotaryFrequencies(NamedTuple):
    """How fast pairs of features turn, and what their tables are multiplied by.

    Attributes
    ----------
    inverse_frequencies
        Radians a position (R/2,), float64. The name is the usual one; the numbers are frequencies.
    attention_factor
        The factor () of cosines and sines, float64.
    """

    inverse_frequencies: Array
    attention_factor: Array


@quietly
def rotary_frequencies(
    *,
    width: int,
    theta: float = 10000.0,
    scaling: str = "none",
    factor: float | None = None,
    original_length: int | None = None,
    sequence_length: int | None = None,
    low_frequency_factor: float | None = None,
    high_frequency_factor: float | None = None,
    short_factors: Sequence[float] | None = None,
    long_factors: Sequence[float] | None = None,
    proportion: float = 1.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    magnitude_scaling: float | None = None,
    magnitude_scaling_all_dimensions: float | None = None,
    attention_factor: float | None = None,
) -> RotaryFrequencies:
    """Give the frequency of each pair of features, and the factor of the tables.

    A parameter that the scaling does not use has no effect.

    Parameters
    ----------
    width
        Number of features that are rotated, R; even.
    theta
        The base of the powers.
    scaling
        ``none``, ``linear``, ``dynamic``, ``llama3``, ``longrope``, ``proportional`` or ``yarn``.
    factor
        How many times as long the texts are to be; needed by every scaling but ``none`` and ``proportional``.
    original_length
        Tokens of the longest text in training; needed by ``dynamic``, ``llama3``, ``longrope`` and ``yarn``.
    sequence_length
        Tokens of the text at hand, for ``dynamic`` and ``longrope``; `original_length` when None.
    low_frequency_factor, high_frequency_factor
        For ``llama3``: how many waves fit into the original length where frequencies begin to be kept in part, and
        where they are kept whole.
    short_factors, long_factors
        For ``longrope``: divisors of the frequencies (R/2,), for texts up to the original length, and for longer ones.
    proportion
        For ``proportional``: the share of the pairs that turn.
    beta_fast, beta_slow
        For ``yarn``: turns within the original length down to which frequencies are kept, and up to which they are
        divided by the factor.
    truncate
        For ``yarn``: whether the pairs with these numbers of turns are rounded to whole pairs.
    magnitude_scaling, magnitude_scaling_all_dimensions
        For ``yarn``: coefficients in the numerator and the denominator of the attention factor; they count only where
        both are given and neither is 0.
    attention_factor
        For ``longrope`` and ``yarn``: the attention factor itself.

    Returns
    -------
    frequencies
        ``inverse_frequencies`` and ``attention_factor``, in float64.

    Raises
    ------
    ValueError
        The width is odd, the scaling unknown, a parameter missing or out of its range, or a list of factors not as
        long as there are pairs.
    """
    # Check the inputs
    check_width(width)
    needed = needed_parameters(
        scaling,
        factor=factor,
        original_length=original_length,
        low_frequency_factor=low_frequency_factor,
        high_frequency_factor=high_frequency_factor,
        short_factors=short_factors,
        long_factors=long_factors,
    )
    check_ranges(scaling, width, theta, proportion, needed)
    check_factor_lists(width, needed)

    # Stretch the base
    base = theta
    if scaling == "dynamic":
        base = stretch_base(theta, width, needed["factor"], needed["original_length"], sequence_length)

    # Take the powers
    frequencies = powers_of(base, width)

    # Scale the frequencies
    if scaling == "linear":
        frequencies = divide(frequencies, needed["factor"])
    elif scaling == "llama3":
        frequencies = scale_long_waves(
            frequencies,
            needed["factor"],
            needed["original_length"],
            needed["low_frequency_factor"],
            needed["high_frequency_factor"],
        )
    elif scaling == "longrope":
        factors = choose_factors(
            needed["short_factors"], needed["long_factors"], needed["original_length"], sequence_length
        )
        frequencies = divide(frequencies, factors)
    elif scaling == "proportional":
        frequencies = keep_first(divide(frequencies, needed["factor"]), proportion)
    elif scaling == "yarn":
        low, high = blending_range(width, theta, needed["original_length"], beta_fast, beta_slow, truncate)
        frequencies = blend(frequencies, divide(frequencies, needed["factor"]), ramp(low, high, width // 2))

    # Choose the attention factor
    chosen = 1.0
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        chosen = attention_factor
    elif scaling == "longrope":
        chosen = longrope_attention_factor(needed["factor"], needed["original_length"])
    elif scaling == "yarn":
        chosen = yarn_attention_factor(needed["factor"], magnitude_scaling, magnitude_scaling_all_dimensions)
    return RotaryFrequencies(frequencies, np.array(chosen, dtype=np.float64))


def powers_of(base: float, width: int) -> Array:
    """Raise the base to the power -2i/R for each pair i: 1 for the first pair, and less for each that follows."""
    return np.power(np.float64(base), -2.0 * np.arange(width // 2) / width)
