"""What goes wrong under dynamic, llama3, longrope and proportional scaling."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.rotary.frequencies import OPERATION, linear_multiplied, under, without
from attnspec_reference.rotary.frequency_scalings import divide, scale_long_waves, stretch_base
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, powers_of, rotary_frequencies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array


def dynamic(**steps: Any) -> Computation:
    """Replace steps of the stretched base."""
    return departure(rotary_frequencies, stretch_base=departure(stretch_base, **steps))


def stretched_by(stretch: Callable[[float, int, int | None], float]) -> Computation:
    """Stretch the base by another number, raised to the usual power."""

    def base(theta: float, width: int, factor: float, original_length: int, sequence_length: int | None) -> float:
        by = np.float64(stretch(factor, original_length, sequence_length))
        return float(theta * np.power(by, width / (width - 2)))

    return departure(rotary_frequencies, stretch_base=base)


def for_the_longest(factor: float, _original_length: int, _sequence_length: int | None) -> float:
    """Stretch as for a text of factor times the original length."""
    return factor * factor - (factor - 1.0)


def by_the_factor(factor: float, _original_length: int, _sequence_length: int | None) -> float:
    """Stretch by the factor, whatever the length."""
    return factor


def exponent_one(_width: int) -> float:
    """Leave the stretch as it is."""
    return 1.0


def shrinking(factor: float, original_length: int, sequence_length: int | None) -> float:
    """Stretch by the length of the text, however short."""
    length = original_length if sequence_length is None else sequence_length
    return factor * length / original_length - (factor - 1.0)


def llama3(**steps: Any) -> Computation:
    """Replace steps of llama3 scaling."""
    return departure(rotary_frequencies, scale_long_waves=departure(scale_long_waves, **steps))


def share_of_divided(waves: Array, low: float, high: float) -> Array:
    """Read the low number of turns as the high one, and the other way round."""
    return np.clip((waves - high) / (low - high), 0.0, 1.0)


def shares_exchanged(frequencies: Array, divided: Array, kept: Array) -> Array:
    """Give each the share of the other in between, and leave the ends."""
    between = (kept > 0) & (kept < 1)
    kept = np.where(between, 1.0 - kept, kept)
    return kept * frequencies + (1.0 - kept) * divided


def share_by_wavelength(waves: Array, low: float, high: float) -> Array:
    """Rise in proportion to the length of a wave, not to the number of waves."""
    with np.errstate(divide="ignore"):
        return np.clip(1.0 - (1.0 / waves - 1.0 / high) / (1.0 / low - 1.0 / high), 0.0, 1.0)


def in_one_step(waves: Array, low: float, _high: float) -> Array:
    """Keep whatever turns more often than the low number says."""
    return np.where(waves < low, 0.0, 1.0)


def radians_within(original_length: int, frequencies: Array) -> Array:
    """Count radians for turns."""
    return original_length * frequencies


def nothing_kept(waves: Array, _low: float, _high: float) -> Array:
    """Divide every frequency."""
    return np.zeros_like(waves)


def always_long(_short: Any, long_factors: Sequence[float], *_lengths: Any) -> Sequence[float]:
    """Take the long factors for every text."""
    return long_factors


def always_short(short_factors: Sequence[float], *_others: Any) -> Sequence[float]:
    """Take the short factors for every text."""
    return short_factors


def long_from_the_original_length(
    short_factors: Sequence[float], long_factors: Sequence[float], original_length: int, sequence_length: int | None
) -> Sequence[float]:
    """Take the long factors one token too early."""
    return short_factors if sequence_length is None or sequence_length < original_length else long_factors


def kept_over_their_own_width(*, width: int, **arguments: Any) -> RotaryFrequencies:
    """Take the powers over the features that turn, not over the whole width."""
    given = rotary_frequencies(width=width, **arguments)
    kept = math.floor(arguments.get("proportion", 1.0) * width / 2)
    frequencies = np.zeros(width // 2)
    frequencies[:kept] = divide(powers_of(arguments.get("theta", 10000.0), 2 * kept), arguments.get("factor") or 1.0)
    return RotaryFrequencies(frequencies, given.attention_factor)


def without_zeros(frequencies: Array, proportion: float) -> Array:
    """Return the frequencies that turn, and no more."""
    return frequencies[: math.floor(proportion * len(frequencies))]


def all_kept(frequencies: Array, _proportion: float) -> Array:
    """Let every pair turn."""
    return frequencies


def features_counted(frequencies: Array, proportion: float) -> Array:
    """Take the proportion of the features, and count as many pairs."""
    kept = math.floor(proportion * 2 * len(frequencies))
    return np.where(np.arange(len(frequencies)) < kept, frequencies, 0.0)


def last_kept(frequencies: Array, proportion: float) -> Array:
    """Let the last pairs turn."""
    still = len(frequencies) - math.floor(proportion * len(frequencies))
    return np.where(np.arange(len(frequencies)) < still, 0.0, frequencies)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="rotary_frequencies.dynamic_ignored",
        clause="rotary_frequencies.dynamic.base",
        sentence="Dynamic scaling had no effect on a long text.",
        engineer="The length is read from the wrong axis, so the rewrite of the base never fires.",
        remedy="Stretch the base as soon as the text is longer than original_length.",
        function=without("dynamic"),
        source="https://github.com/ml-explore/mlx-lm/pull/1553",
    ),
    mistake(
        id="rotary_frequencies.dynamic_by_factor",
        clause="rotary_frequencies.dynamic.base",
        sentence="The base was stretched as for a text of factor times the original length, not for the text at hand.",
        engineer="max_len = factor * original_length is put where the current length belongs.",
        remedy="Put the length of the text, sequence_length, into the formula.",
        function=stretched_by(for_the_longest),
        source="https://github.com/vllm-project/vllm/issues/41236",
    ),
    mistake(
        id="rotary_frequencies.dynamic_stretched_by_factor",
        clause="rotary_frequencies.dynamic.base",
        sentence="The base was stretched by the factor alone, for every text alike.",
        engineer="Static NTK scaling, base * factor ** (R / (R - 2)), stands in for the dynamic one.",
        remedy="Stretch by s * n / L0 - s + 1, with the length n of the text.",
        function=stretched_by(by_the_factor),
    ),
    mistake(
        id="rotary_frequencies.dynamic_exponent_missing",
        clause="rotary_frequencies.dynamic.base",
        sentence="The stretch of the base was not raised to the power R/(R - 2).",
        engineer="The base is multiplied by the stretch itself, so the last pair is slowed down too little.",
        remedy="Raise the stretch to the power R/(R - 2) before multiplying theta by it.",
        function=dynamic(exponent_of_stretch=exponent_one),
    ),
    mistake(
        id="rotary_frequencies.dynamic_shrinks",
        clause="rotary_frequencies.dynamic.short",
        sentence="The base shrank for a text shorter than the original length.",
        engineer="The maximum of the current and the original length is missing.",
        remedy="Take the base as it is up to original_length tokens.",
        function=stretched_by(shrinking),
        source="https://github.com/vllm-project/vllm/issues/52665",
    ),
    mistake(
        id="rotary_frequencies.llama3_ignored",
        clause="rotary_frequencies.llama3.long_waves",
        sentence="Llama 3 scaling had no effect.",
        engineer="rope_scaling is parsed and never reaches the frequencies.",
        remedy="Divide the frequencies of long waves by the factor, and mix in between.",
        function=without("llama3"),
        source="https://github.com/lablup/mlxcel/issues/1355",
    ),
    mistake(
        id="rotary_frequencies.llama3_all_divided",
        clause="rotary_frequencies.llama3.short_waves",
        sentence="Llama 3 scaling divided every frequency, also those of short waves.",
        engineer="llama3 falls through to linear scaling.",
        remedy="Keep the frequencies of waves that are shorter than original_length / high_frequency_factor.",
        function=llama3(share_kept=nothing_kept),
    ),
    mistake(
        id="rotary_frequencies.llama3_bands_exchanged",
        clause="rotary_frequencies.llama3.short_waves",
        sentence="Llama 3 scaling kept the long waves and slowed the short ones down.",
        engineer="low_freq_factor and high_freq_factor are swapped.",
        remedy="Divide where fewer waves than low_frequency_factor fit; keep where more than the high one do.",
        function=llama3(share_kept=share_of_divided),
    ),
    mistake(
        id="rotary_frequencies.llama3_shares_exchanged",
        clause="rotary_frequencies.llama3.between",
        sentence="Between long and short waves, the shares of kept and divided frequency were exchanged.",
        engineer="smooth * f / s + (1 - smooth) * f stands in for (1 - smooth) * f / s + smooth * f.",
        remedy="Let the kept share rise with the number of waves.",
        function=llama3(mix=shares_exchanged),
    ),
    mistake(
        id="rotary_frequencies.llama3_by_wavelength",
        clause="rotary_frequencies.llama3.between",
        sentence="Between long and short waves, the kept share follows the wavelength, not the number of waves.",
        engineer="smooth = (wavelen - high_wavelen) / (low_wavelen - high_wavelen) is linear in the wrong variable.",
        remedy="Compute the share from original_length / wavelength.",
        function=llama3(share_kept=share_by_wavelength),
        source="https://github.com/ml-explore/mlx-examples/pull/907",
    ),
    mistake(
        id="rotary_frequencies.llama3_in_one_step",
        clause="rotary_frequencies.llama3.between",
        sentence="There is no transition between long and short waves.",
        engineer="The medium band is kept whole instead of being interpolated.",
        remedy="Mix kept and divided frequency between the two numbers of waves.",
        function=llama3(share_kept=in_one_step),
    ),
    mistake(
        id="rotary_frequencies.llama3_two_pi_missing",
        clause="rotary_frequencies.llama3.long_waves",
        sentence="Radians were counted for full turns: the factor 2 pi is missing.",
        engineer="The wavelength is taken as 1 / f instead of 2 pi / f.",
        remedy="Divide by 2 pi: a wave is a full turn.",
        function=llama3(waves_within=radians_within),
    ),
    mistake(
        id="rotary_frequencies.longrope_always_long",
        clause="rotary_frequencies.longrope.short",
        sentence="The long factors were taken for a short text.",
        engineer="short_factor is accepted and never used.",
        remedy="Take short_factors up to original_length tokens.",
        function=departure(rotary_frequencies, choose_factors=always_long),
        source="https://github.com/ml-explore/mlx-lm/pull/660",
    ),
    mistake(
        id="rotary_frequencies.longrope_always_short",
        clause="rotary_frequencies.longrope.long",
        sentence="The short factors were taken for a long text.",
        engineer="The factors are chosen once, when the length is not known yet.",
        remedy="Take long_factors beyond original_length tokens.",
        function=departure(rotary_frequencies, choose_factors=always_short),
    ),
    mistake(
        id="rotary_frequencies.longrope_long_too_early",
        clause="rotary_frequencies.longrope.short",
        sentence="A text of exactly the original length got the long factors.",
        engineer="The branch is taken at seq_len >= original instead of seq_len > original.",
        remedy="Take short_factors up to and including original_length tokens.",
        function=departure(rotary_frequencies, choose_factors=long_from_the_original_length),
        source="https://github.com/unslothai/unsloth/pull/10681",
    ),
    mistake(
        id="rotary_frequencies.longrope_multiplied",
        clause="rotary_frequencies.longrope.short",
        sentence="The frequencies were multiplied by the factors of longrope, not divided.",
        engineer="The factors belong to the wavelengths, theta^(2i/R), and are applied to their inverses.",
        remedy="Divide each frequency by its factor.",
        function=under("longrope", departure(rotary_frequencies, divide=linear_multiplied)),
    ),
    mistake(
        id="rotary_frequencies.proportional_over_rotated_width",
        clause="rotary_frequencies.proportional",
        sentence="The exponents were divided by the number of features that turn, not by the whole width.",
        engineer="inv_freq = theta^(-2i / rotary_dim), ordinary partial rotary, stands in for theta^(-2i / head_dim).",
        remedy="Divide the exponents by the whole width under proportional scaling.",
        function=under("proportional", kept_over_their_own_width),
        source="https://github.com/pegainfer-project/pegainfer/issues/820",
    ),
    mistake(
        id="rotary_frequencies.proportional_without_zeros",
        clause="rotary_frequencies.proportional",
        sentence="Only the frequencies of pairs that turn were returned, without zeros for the others.",
        engineer="inv_freq is not padded to head_dim // 2, so rotate_half pairs the wrong lanes.",
        remedy="Return R/2 numbers: a 0 for every pair that does not turn.",
        function=departure(rotary_frequencies, keep_first=without_zeros),
        source="https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/4195",
    ),
    mistake(
        id="rotary_frequencies.proportional_ignored",
        clause="rotary_frequencies.proportional",
        sentence="All pairs turn, whatever the proportion says.",
        engineer="partial_rotary_factor is not read.",
        remedy="Set the frequencies beyond the proportion to 0.",
        function=departure(rotary_frequencies, keep_first=all_kept),
        source="https://github.com/jagmarques/nexusquant/pull/12",
    ),
    mistake(
        id="rotary_frequencies.proportional_of_features",
        clause="rotary_frequencies.proportional",
        sentence="The proportion was taken of the features, so that twice as many pairs turn.",
        engineer="int(proportion * head_dim) counts features and is used as a number of angles.",
        remedy="Let the proportion of the R/2 pairs turn.",
        function=departure(rotary_frequencies, keep_first=features_counted),
    ),
    mistake(
        id="rotary_frequencies.proportional_last",
        clause="rotary_frequencies.proportional",
        sentence="The last pairs turn instead of the first.",
        engineer="The zeros are padded in front of the frequencies.",
        remedy="Put the zeros behind the frequencies.",
        function=departure(rotary_frequencies, keep_first=last_kept),
    ),
    mistake(
        id="rotary_frequencies.proportional_factor_ignored",
        clause="rotary_frequencies.proportional",
        sentence="The factor had no effect under proportional scaling.",
        engineer="inv_freq is not divided by the factor after it was padded.",
        remedy="Divide the frequencies by the factor where it is given.",
        function=under("proportional", ignoring(rotary_frequencies, "factor")),
    ),
)
"""What goes wrong under dynamic, llama3, longrope and proportional scaling."""
