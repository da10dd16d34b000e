"""Other ways to rotary frequencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import patch
from attnspec_reference.rotary.rotary_frequencies import rotary_frequencies

if TYPE_CHECKING:
    from attnspec_reference.precision import Array


def by_logarithm(base: float, width: int) -> Array:
    """Take the exponential of the logarithm times the exponent."""
    return np.exp(np.arange(0, width, 2) * (-math.log(base) / width))


def by_reciprocal(base: float, width: int) -> Array:
    """Divide 1 by positive powers."""
    return 1.0 / np.power(np.float64(base), np.arange(0, width, 2) / width)


def by_wavelength(
    frequencies: Array, factor: float, original_length: int, low_frequency_factor: float, high_frequency_factor: float
) -> Array:
    """Compare wavelengths, band by band."""
    wavelengths = 2.0 * math.pi / frequencies
    share = (original_length / wavelengths - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
    between = (1.0 - share) * frequencies / factor + share * frequencies
    short = np.where(wavelengths < original_length / high_frequency_factor, frequencies, between)
    return np.where(wavelengths > original_length / low_frequency_factor, frequencies / factor, short)


def by_share_kept(frequencies: Array, divided: Array, divided_share: Array) -> Array:
    """Weigh with the share that is kept."""
    kept = 1.0 - divided_share
    return divided * (1.0 - kept) + frequencies * kept


def by_harmonic_form(frequencies: Array, divided: Array, divided_share: Array) -> Array:
    """Blend wavelengths, over a common denominator."""
    waves, longer = 1.0 / frequencies, 1.0 / divided
    return 1.0 / ((longer * waves) / (longer * (1.0 - divided_share) + waves * divided_share))


CONTROLS: tuple[Control, ...] = (
    Control(
        id="rotary_frequencies.by_logarithm",
        operation="rotary_frequencies",
        sentence="The powers are exponentials of multiples of the logarithm of the base.",
        function=patch(rotary_frequencies, powers_of=by_logarithm),
    ),
    Control(
        id="rotary_frequencies.by_reciprocal",
        operation="rotary_frequencies",
        sentence="The powers are reciprocals of positive powers.",
        function=patch(rotary_frequencies, powers_of=by_reciprocal),
    ),
    Control(
        id="rotary_frequencies.by_wavelength",
        operation="rotary_frequencies",
        sentence="Llama 3 scaling compares wavelengths, band by band.",
        function=patch(rotary_frequencies, scale_long_waves=by_wavelength),
    ),
    Control(
        id="rotary_frequencies.by_share_kept",
        operation="rotary_frequencies",
        sentence="Yarn weighs with the share that is kept.",
        function=patch(rotary_frequencies, blend=by_share_kept),
    ),
    Control(
        id="rotary_frequencies.by_harmonic_form",
        operation="rotary_frequencies",
        sentence="Yarn blends wavelengths over a common denominator.",
        function=patch(rotary_frequencies, blend=by_harmonic_form),
    ),
)
