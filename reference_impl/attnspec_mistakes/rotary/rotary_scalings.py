"""What goes wrong in rotary frequencies: their ladder, scalings of it, YaRN."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, altered, defaulting, ignoring, on_calls, patch
from attnspec_reference.precision import Array
from attnspec_reference.rotary.frequency_scalings import (
    blending_range,
    divide,
    magnitude,
    pair_of_turns,
    ramp,
    scale_long_waves,
    stretch_base,
    yarn_attention_factor,
)
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, powers_of, rotary_frequencies


def frequencies_with(**steps: object) -> Callable[..., RotaryFrequencies]:
    """Make rotary frequencies with some of the reference's steps replaced."""
    return patch(rotary_frequencies, **steps)


def under(scaling: str, patched: Computation) -> Computation:
    """Go wrong under one scaling alone."""
    return on_calls(rotary_frequencies, lambda given: given.get("scaling") == scaling, patched)


def without(scaling: str) -> Computation:
    """Leave a scaling out."""
    return under(scaling, altered(rotary_frequencies, scaling=lambda _scaling: "none"))


def of_every_feature(**arguments: Any) -> RotaryFrequencies:
    """Write each frequency twice, once for each feature of the pair."""
    given = rotary_frequencies(**arguments)
    return RotaryFrequencies(np.tile(given.inverse_frequencies, 2), given.attention_factor)


def factor_without_scaling(**arguments: Any) -> RotaryFrequencies:
    """Take a factor for linear scaling, whatever the scaling says."""
    if arguments.get("scaling", "none") == "none" and arguments.get("factor") is not None:
        arguments["scaling"] = "linear"
    return rotary_frequencies(**arguments)


def linear_with_stretched_base(**arguments: Any) -> RotaryFrequencies:
    """Stretch the base of long texts under linear scaling, too."""
    given = rotary_frequencies(**arguments)
    needed = ("original_length", "sequence_length")
    if arguments.get("scaling") != "linear" or any(arguments.get(name) is None for name in needed):
        return given
    arguments["scaling"] = "dynamic"
    stretched = rotary_frequencies(**arguments).inverse_frequencies
    return RotaryFrequencies(stretched / arguments["factor"], given.attention_factor)


def linear_multiplied(frequencies: Array, divisor: Any) -> Array:
    """Multiply where to divide."""
    return frequencies * np.asarray(divisor, dtype=np.float64)


def stretched_by(stretch: Callable[[float, int, int | None], float]) -> Computation:
    """Stretch the base by another number, raised to the usual power."""

    def base(theta: float, width: int, factor: float, original_length: int, sequence_length: int | None) -> float:
        by = np.float64(stretch(factor, original_length, sequence_length))
        return float(theta * np.power(by, width / (width - 2)))

    return frequencies_with(stretch_base=base)


def shrinking(factor: float, original_length: int, sequence_length: int | None) -> float:
    """Stretch by the length of the text, however short."""
    length = original_length if sequence_length is None else sequence_length
    return factor * length / original_length - (factor - 1.0)


def llama3(**steps: Any) -> Computation:
    """Replace steps of llama3 scaling."""
    return frequencies_with(scale_long_waves=patch(scale_long_waves, **steps))


def shares_exchanged(frequencies: Array, divided: Array, kept: Array) -> Array:
    """Give each the share of the other in between, and leave the ends."""
    between = (kept > 0) & (kept < 1)
    kept = np.where(between, 1.0 - kept, kept)
    return kept * frequencies + (1.0 - kept) * divided


def share_by_wavelength(waves: Array, low: float, high: float) -> Array:
    """Rise in proportion to the length of a wave, not to the number of waves."""
    with np.errstate(divide="ignore"):
        return np.clip(1.0 - (1.0 / waves - 1.0 / high) / (1.0 / low - 1.0 / high), 0.0, 1.0)


def kept_over_their_own_width(*, width: int, **arguments: Any) -> RotaryFrequencies:
    """Take the powers over the features that turn, not over the whole width."""
    given = rotary_frequencies(width=width, **arguments)
    kept = math.floor(arguments.get("proportion", 1.0) * width / 2)
    frequencies = np.zeros(width // 2)
    frequencies[:kept] = divide(powers_of(arguments.get("theta", 10000.0), 2 * kept), arguments.get("factor") or 1.0)
    return RotaryFrequencies(frequencies, given.attention_factor)


def features_counted(frequencies: Array, proportion: float) -> Array:
    """Take the proportion of the features, and count as many pairs."""
    kept = math.floor(proportion * 2 * len(frequencies))
    return np.where(np.arange(len(frequencies)) < kept, frequencies, 0.0)


def last_kept(frequencies: Array, proportion: float) -> Array:
    """Let the last pairs turn."""
    still = len(frequencies) - math.floor(proportion * len(frequencies))
    return np.where(np.arange(len(frequencies)) < still, 0.0, frequencies)


def ranged(**steps: Any) -> Computation:
    """Replace steps of finding the range."""
    return frequencies_with(blending_range=patch(blending_range, **steps))


def rounded_inwards(
    width: int, theta: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool
) -> tuple[float, float]:
    """Round both ends down."""
    low, high = blending_range(width, theta, original_length, beta_fast, beta_slow, truncate=False)
    return (math.floor(low), math.floor(high)) if truncate else (low, high)


def pair_of_radians(turns: float, width: int, theta: float, original_length: int) -> float:
    """Count radians for turns."""
    return pair_of_turns(turns / (2.0 * math.pi), width, theta, original_length)


def pair_for_ten_thousand(turns: float, width: int, _theta: float, original_length: int) -> float:
    """Take the base that is the default of the helper."""
    return pair_of_turns(turns, width, 10000.0, original_length)


def magnitude_as_factor(factor: float, numerator: float | None, denominator: float | None) -> float:
    """Take a coefficient for the attention factor itself."""
    return yarn_attention_factor(factor, numerator, denominator) if numerator is None else numerator


def with_attention_factor(factor_of: Callable[[Mapping[str, Any]], float | None]) -> Computation:
    """Give another attention factor, by a function of the arguments; None leaves the right one."""

    def computed(**arguments: Any) -> RotaryFrequencies:
        right, factor = rotary_frequencies(**arguments), factor_of(arguments)
        return right if factor is None else right._replace(attention_factor=np.array(factor, dtype=np.float64))

    return computed


def given_factor_through(change: Callable[[float, float], float]) -> Computation:
    """Change a given attention factor under yarn by a function of it and of the factor."""

    def factor_of(given: Mapping[str, Any]) -> float | None:
        stated = given.get("attention_factor")
        return None if given.get("scaling") != "yarn" or stated is None else change(stated, given["factor"])

    return with_attention_factor(factor_of)


def derived_under_every_scaling(given: Mapping[str, Any]) -> float | None:
    """Take the attention factor of yarn whatever the scaling, where there is a factor."""
    own = given.get("scaling", "none") in ("none", "longrope", "yarn") or given.get("factor") is None
    return None if own else magnitude(given["factor"], 1.0)


def one(*_given: Any) -> float:
    """Take 1, whatever is given."""
    return 1.0


FUNCTIONS: Mapping[str, Making] = {
    "rotary_frequencies.theta_ignored": ignoring(rotary_frequencies, "theta"),
    "rotary_frequencies.exponent_halved": frequencies_with(
        powers_of=lambda base, width: np.power(np.float64(base), -np.arange(width // 2) / width)
    ),
    "rotary_frequencies.counted_from_one": frequencies_with(
        powers_of=lambda base, width: np.power(np.float64(base), -2.0 * np.arange(1, width // 2 + 1) / width)
    ),
    "rotary_frequencies.last_is_one_over_theta": frequencies_with(
        powers_of=lambda base, width: np.power(np.float64(base), -np.arange(width // 2) / max(width // 2 - 1, 1))
    ),
    "rotary_frequencies.inverted": frequencies_with(
        powers_of=lambda base, width: np.power(np.float64(base), 2.0 * np.arange(width // 2) / width)
    ),
    "rotary_frequencies.of_every_feature": of_every_feature,
    "rotary_frequencies.factor_without_scaling": factor_without_scaling,
    "rotary_frequencies.linear_with_stretched_base": linear_with_stretched_base,
    "rotary_frequencies.linear_multiplied": under("linear", frequencies_with(divide=linear_multiplied)),
    "rotary_frequencies.linear_ignored": without("linear"),
    "rotary_frequencies.dynamic_ignored": without("dynamic"),
    "rotary_frequencies.dynamic_by_factor": stretched_by(
        lambda factor, _original_length, _sequence_length: factor * factor - (factor - 1.0)
    ),
    "rotary_frequencies.dynamic_stretched_by_factor": stretched_by(
        lambda factor, _original_length, _sequence_length: factor
    ),
    "rotary_frequencies.dynamic_exponent_missing": frequencies_with(
        stretch_base=patch(stretch_base, exponent_of_stretch=lambda _width: 1.0)
    ),
    "rotary_frequencies.dynamic_shrinks": stretched_by(shrinking),
    "rotary_frequencies.llama3_ignored": without("llama3"),
    "rotary_frequencies.llama3_all_divided": llama3(share_kept=lambda waves, _low, _high: np.zeros_like(waves)),
    "rotary_frequencies.llama3_bands_exchanged": llama3(
        share_kept=lambda waves, low, high: np.clip((waves - high) / (low - high), 0.0, 1.0)
    ),
    "rotary_frequencies.llama3_shares_exchanged": llama3(mix=shares_exchanged),
    "rotary_frequencies.llama3_by_wavelength": llama3(share_kept=share_by_wavelength),
    "rotary_frequencies.llama3_in_one_step": llama3(
        share_kept=lambda waves, low, _high: np.where(waves < low, 0.0, 1.0)
    ),
    "rotary_frequencies.llama3_two_pi_missing": llama3(
        waves_within=lambda original_length, frequencies: original_length * frequencies
    ),
    "rotary_frequencies.longrope_always_long": frequencies_with(
        choose_factors=lambda _short, long_factors, *_lengths: long_factors
    ),
    "rotary_frequencies.longrope_always_short": frequencies_with(
        choose_factors=lambda short_factors, *_others: short_factors
    ),
    "rotary_frequencies.longrope_long_too_early": frequencies_with(
        choose_factors=lambda short, long, original_length, length: (
            short if length is None or length < original_length else long
        )
    ),
    "rotary_frequencies.longrope_multiplied": under("longrope", frequencies_with(divide=linear_multiplied)),
    "rotary_frequencies.proportional_over_rotated_width": under("proportional", kept_over_their_own_width),
    "rotary_frequencies.proportional_without_zeros": frequencies_with(
        keep_first=lambda frequencies, proportion: frequencies[: math.floor(proportion * len(frequencies))]
    ),
    "rotary_frequencies.proportional_ignored": frequencies_with(
        keep_first=lambda frequencies, _proportion: frequencies
    ),
    "rotary_frequencies.proportional_of_features": frequencies_with(keep_first=features_counted),
    "rotary_frequencies.proportional_last": frequencies_with(keep_first=last_kept),
    "rotary_frequencies.proportional_factor_ignored": under("proportional", ignoring(rotary_frequencies, "factor")),
    "rotary_frequencies.yarn_clamped_to_last_pair": ranged(
        clamp=lambda low, high, width: (max(low, 0.0), min(high, width // 2 - 1.0))
    ),
    "rotary_frequencies.yarn_turns_exchanged": frequencies_with(
        blending_range=lambda width, theta, length, fast, slow, truncate: blending_range(
            width, theta, length, slow, fast, truncate
        )
    ),
    "rotary_frequencies.yarn_turns_fixed": ignoring(rotary_frequencies, "beta_fast", "beta_slow"),
    "rotary_frequencies.yarn_two_pi_missing": ranged(pair_of_turns=pair_of_radians),
    "rotary_frequencies.yarn_range_for_base_10000": ranged(pair_of_turns=pair_for_ten_thousand),
    "rotary_frequencies.yarn_always_truncated": ignoring(rotary_frequencies, "truncate"),
    "rotary_frequencies.yarn_not_truncated": defaulting(rotary_frequencies, truncate=lambda _arguments: False),
    "rotary_frequencies.yarn_rounded_down": frequencies_with(blending_range=rounded_inwards),
    "rotary_frequencies.yarn_blended_the_other_way": frequencies_with(
        blend=lambda frequencies, divided, divided_share: divided_share * frequencies + (1.0 - divided_share) * divided
    ),
    "rotary_frequencies.yarn_all_divided": frequencies_with(blend=lambda _frequencies, divided, _share: divided),
    "rotary_frequencies.yarn_factor_in_base": under(
        "yarn",
        frequencies_with(divide=lambda frequencies, factor: frequencies * powers_of(factor, 2 * len(frequencies))),
    ),
    "rotary_frequencies.yarn_ramp_over_features": frequencies_with(
        ramp=lambda low, high, pairs: ramp(low, high, 2 * pairs)[::2]
    ),
    "rotary_frequencies.given_attention_factor_ignored": ignoring(rotary_frequencies, "attention_factor"),
    "rotary_frequencies.given_attention_factor_multiplied": given_factor_through(
        lambda given, factor: given * magnitude(factor, 1.0)
    ),
    "rotary_frequencies.given_attention_factor_as_coefficient": given_factor_through(
        lambda given, factor: magnitude(factor, given)
    ),
    "rotary_frequencies.longrope_factor_missing": frequencies_with(longrope_attention_factor=one),
    "rotary_frequencies.longrope_factor_of_yarn": frequencies_with(
        longrope_attention_factor=lambda factor, _original_length: magnitude(factor, 1.0)
    ),
    "rotary_frequencies.longrope_factor_without_root": frequencies_with(
        longrope_attention_factor=lambda factor, original_length: 1.0 + math.log(factor) / math.log(original_length)
    ),
    "rotary_frequencies.yarn_factor_missing": frequencies_with(yarn_attention_factor=one),
    "rotary_frequencies.yarn_common_logarithm": frequencies_with(
        yarn_attention_factor=patch(
            yarn_attention_factor, magnitude=lambda factor, coefficient: 0.1 * coefficient * math.log10(factor) + 1.0
        )
    ),
    "rotary_frequencies.magnitudes_ignored": frequencies_with(
        yarn_attention_factor=lambda factor, _numerator, _denominator: magnitude(factor, 1.0)
    ),
    "rotary_frequencies.single_magnitude_heard": frequencies_with(
        yarn_attention_factor=lambda factor, numerator, denominator: (
            magnitude(factor, numerator or 1.0) / magnitude(factor, denominator or 0.0)
        )
    ),
    "rotary_frequencies.magnitude_as_factor": frequencies_with(yarn_attention_factor=magnitude_as_factor),
    "rotary_frequencies.attention_factor_of_others_heard": with_attention_factor(
        lambda given: given.get("attention_factor")
    ),
    "rotary_frequencies.attention_factor_of_others_derived": with_attention_factor(derived_under_every_scaling),
}
