"""What goes wrong under yarn scaling, and in the attention factor."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import defaulting, departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.rotary.frequencies import OPERATION
from attnspec_reference.rotary.frequency_scalings import (
    blending_range,
    magnitude,
    pair_of_turns,
    ramp,
    yarn_attention_factor,
)
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array


def ranged(**steps: Any) -> Computation:
    """Replace steps of finding the range."""
    return departure(rotary_frequencies, blending_range=departure(blending_range, **steps))


def clamped_to_the_last_pair(low: float, high: float, width: int) -> tuple[float, float]:
    """Keep the range among the pairs that there are."""
    return max(low, 0.0), min(high, width // 2 - 1.0)


def range_of_exchanged_turns(
    width: int, theta: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool
) -> tuple[float, float]:
    """Begin where the slow number of turns lies, and end at the fast one."""
    return blending_range(width, theta, original_length, beta_slow, beta_fast, truncate)


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


def ramp_over_features(low: float, high: float, pairs: int) -> Array:
    """Count features where to count pairs."""
    return ramp(low, high, 2 * pairs)[::2]


def blended_the_other_way(frequencies: Array, divided: Array, divided_share: Array) -> Array:
    """Exchange the shares."""
    return divided_share * frequencies + (1.0 - divided_share) * divided


def all_divided(_frequencies: Array, divided: Array, _share: Array) -> Array:
    """Divide every frequency."""
    return divided


def without_magnitudes(factor: float, _numerator: float | None, _denominator: float | None) -> float:
    """Hear neither coefficient."""
    return magnitude(factor, 1.0)


def single_magnitude_heard(factor: float, numerator: float | None, denominator: float | None) -> float:
    """Take a missing coefficient of the denominator for 0."""
    return magnitude(factor, numerator or 1.0) / magnitude(factor, denominator or 0.0)


def magnitude_as_factor(factor: float, numerator: float | None, denominator: float | None) -> float:
    """Take a coefficient for the attention factor itself."""
    return yarn_attention_factor(factor, numerator, denominator) if numerator is None else numerator


def one(*_given: Any) -> float:
    """Take 1, whatever is given."""
    return 1.0


def of_yarn(factor: float, _original_length: int) -> float:
    """Take the attention factor of the other scaling."""
    return magnitude(factor, 1.0)


def without_root(factor: float, original_length: int) -> float:
    """Leave the square root out."""
    return 1.0 + math.log(factor) / math.log(original_length)


def multiplied(given: float, factor: float) -> float:
    """Multiply what is given by the scaling's own attention factor."""
    return given * magnitude(factor, 1.0)


def as_coefficient(given: float, factor: float) -> float:
    """Take what is given for a coefficient."""
    return magnitude(factor, given)


def given_factor_through(change: Callable[[float, float], float]) -> Computation:
    """Change a given attention factor under yarn by a function of it and of the factor."""

    def computation(**arguments: Any) -> RotaryFrequencies:
        given = rotary_frequencies(**arguments)
        attention_factor = arguments.get("attention_factor")
        if arguments.get("scaling") != "yarn" or attention_factor is None:
            return given
        changed = change(attention_factor, arguments["factor"])
        return RotaryFrequencies(given.inverse_frequencies, np.array(changed, dtype=np.float64))

    return computation


def heard_under_every_scaling(**arguments: Any) -> RotaryFrequencies:
    """Take a given attention factor whatever the scaling."""
    given = rotary_frequencies(**arguments)
    attention_factor = arguments.get("attention_factor")
    if attention_factor is None:
        return given
    return RotaryFrequencies(given.inverse_frequencies, np.array(attention_factor, dtype=np.float64))


def derived_under_every_scaling(**arguments: Any) -> RotaryFrequencies:
    """Take the attention factor of yarn whatever the scaling, where there is a factor."""
    given = rotary_frequencies(**arguments)
    if arguments.get("scaling", "none") in ("none", "longrope", "yarn") or arguments.get("factor") is None:
        return given
    return RotaryFrequencies(given.inverse_frequencies, np.array(magnitude(arguments["factor"], 1.0)))


def common_logarithm(factor: float, coefficient: float) -> float:
    """Take the logarithm to the base 10."""
    return 0.1 * coefficient * math.log10(factor) + 1.0


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="rotary_frequencies.yarn_clamped_to_last_pair",
        clause="rotary_frequencies.yarn.range",
        sentence="The upper end of the range was held at the last pair, R/2 - 1, instead of R - 1.",
        engineer="The correction range is clamped to rotary_dim // 2 - 1.",
        remedy="Clamp the upper end to R - 1, as the models were trained with.",
        function=ranged(clamp=clamped_to_the_last_pair),
        source="https://github.com/keras-team/keras-hub/pull/2981",
    ),
    mistake(
        id="rotary_frequencies.yarn_turns_exchanged",
        clause="rotary_frequencies.yarn.range",
        sentence="The two numbers of turns, beta_fast and beta_slow, were exchanged.",
        engineer="low comes from beta_slow and high from beta_fast, the inverse of the paper.",
        remedy="Begin the range at the pair that turns beta_fast times, and end it at beta_slow.",
        function=departure(rotary_frequencies, blending_range=range_of_exchanged_turns),
        source="https://github.com/pytorch/torchtitan/pull/3787",
    ),
    mistake(
        id="rotary_frequencies.yarn_turns_fixed",
        clause="rotary_frequencies.yarn.range",
        sentence="The range was found with 32 turns and 1 turn, whatever beta_fast and beta_slow say.",
        engineer="beta_fast and beta_slow are not passed on.",
        remedy="Find the range with beta_fast and beta_slow.",
        function=ignoring(rotary_frequencies, "beta_fast", "beta_slow"),
    ),
    mistake(
        id="rotary_frequencies.yarn_two_pi_missing",
        clause="rotary_frequencies.yarn.range",
        sentence="Radians were counted for full turns when the range was found: the factor 2 pi is missing.",
        engineer="find_correction_dim takes log(L / b) instead of log(L / (2 pi b)).",
        remedy="Divide by 2 pi: a turn is 2 pi radians.",
        function=ranged(pair_of_turns=pair_of_radians),
    ),
    mistake(
        id="rotary_frequencies.yarn_range_for_base_10000",
        clause="rotary_frequencies.yarn.range",
        sentence="The range was found for the base 10000, not for theta.",
        engineer="find_correction_dim is called without base and takes its default.",
        remedy="Find the range with theta, too.",
        function=ranged(pair_of_turns=pair_for_ten_thousand),
    ),
    mistake(
        id="rotary_frequencies.yarn_always_truncated",
        clause="rotary_frequencies.yarn.truncate",
        sentence="The range was rounded to whole pairs although truncate is false.",
        engineer="The correction range is always floored and ceiled.",
        remedy="Round the ends of the range only where truncate is true.",
        function=ignoring(rotary_frequencies, "truncate"),
        source="https://github.com/vllm-project/vllm/issues/27722",
    ),
    mistake(
        id="rotary_frequencies.yarn_not_truncated",
        clause="rotary_frequencies.yarn.truncate",
        sentence="The range was not rounded to whole pairs although truncate is not false.",
        engineer="truncate defaults to False.",
        remedy="Round the lower end down and the upper end up where truncate is not given.",
        function=defaulting(rotary_frequencies, truncate=lambda _arguments: False),
        source="https://github.com/keras-team/keras-hub/pull/2981",
    ),
    mistake(
        id="rotary_frequencies.yarn_rounded_down",
        clause="rotary_frequencies.yarn.truncate",
        sentence="Both ends of the range were rounded down.",
        engineer="int() truncates high where ceil belongs.",
        remedy="Round the upper end up.",
        function=departure(rotary_frequencies, blending_range=rounded_inwards),
    ),
    mistake(
        id="rotary_frequencies.yarn_blended_the_other_way",
        clause="rotary_frequencies.yarn.blend",
        sentence="Fast pairs were slowed down and slow ones kept: the shares are exchanged.",
        engineer="The ramp is used as the extrapolation mask without 1 - ramp.",
        remedy="Divide beyond the range by the factor, and keep what lies before it.",
        function=departure(rotary_frequencies, blend=blended_the_other_way),
    ),
    mistake(
        id="rotary_frequencies.yarn_all_divided",
        clause="rotary_frequencies.yarn.blend",
        sentence="Every frequency was divided by the factor under yarn.",
        engineer="yarn falls through to linear scaling.",
        remedy="Keep the frequencies of pairs up to the range.",
        function=departure(rotary_frequencies, blend=all_divided),
    ),
    mistake(
        id="rotary_frequencies.yarn_ramp_over_features",
        clause="rotary_frequencies.yarn.blend",
        sentence="The range was compared with the number of the feature instead of that of the pair.",
        engineer="The ramp is evaluated at arange(0, R, 2) instead of arange(R / 2).",
        remedy="Let the share of pair i rise with i.",
        function=departure(rotary_frequencies, ramp=ramp_over_features),
    ),
    mistake(
        id="rotary_frequencies.given_attention_factor_ignored",
        clause="rotary_frequencies.attention_factor.given",
        sentence="A given attention factor was ignored, and the scaling's own was taken.",
        engineer="attention_factor is not on the list of settings that are passed on.",
        remedy="Take attention_factor as it is where it is given.",
        function=ignoring(rotary_frequencies, "attention_factor"),
        source="https://github.com/vllm-project/vllm/pull/48351",
    ),
    mistake(
        id="rotary_frequencies.given_attention_factor_multiplied",
        clause="rotary_frequencies.attention_factor.given",
        sentence="A given attention factor was multiplied by the scaling's own.",
        engineer="attention_factor is copied to attn_factor, which multiplies yarn_get_mscale(factor).",
        remedy="Take attention_factor as it is: it is the final one.",
        function=given_factor_through(multiplied),
        source="https://github.com/sgl-project/sglang/pull/33558",
    ),
    mistake(
        id="rotary_frequencies.given_attention_factor_as_coefficient",
        clause="rotary_frequencies.attention_factor.given",
        sentence="A given attention factor was put into the formula of the scaling's own, as a coefficient.",
        engineer="attention_factor is stored as mscale and goes through 0.1 * mscale * ln(factor) + 1.",
        remedy="Take attention_factor as it is: it is the final one.",
        function=given_factor_through(as_coefficient),
        source="https://github.com/NVIDIA/TensorRT-LLM/pull/16379",
    ),
    mistake(
        id="rotary_frequencies.longrope_factor_missing",
        clause="rotary_frequencies.attention_factor.longrope",
        sentence="The attention factor of longrope was left at 1.",
        engineer="Only the frequencies are rescaled, the cached tables are not.",
        remedy="Take the square root of 1 + ln s / ln L0 where the factor s is above 1.",
        function=departure(rotary_frequencies, longrope_attention_factor=one),
    ),
    mistake(
        id="rotary_frequencies.longrope_factor_of_yarn",
        clause="rotary_frequencies.attention_factor.longrope",
        sentence="Under longrope the attention factor of yarn was taken.",
        engineer="0.1 * ln(factor) + 1 is applied for every scaling that has an attention factor.",
        remedy="Take the square root of 1 + ln s / ln L0.",
        function=departure(rotary_frequencies, longrope_attention_factor=of_yarn),
    ),
    mistake(
        id="rotary_frequencies.longrope_factor_without_root",
        clause="rotary_frequencies.attention_factor.longrope",
        sentence="The square root is missing in the attention factor of longrope.",
        engineer="The factor of the scores, the square, is put where the factor of the tables belongs.",
        remedy="Take the square root of 1 + ln s / ln L0.",
        function=departure(rotary_frequencies, longrope_attention_factor=without_root),
    ),
    mistake(
        id="rotary_frequencies.yarn_factor_missing",
        clause="rotary_frequencies.attention_factor.yarn",
        sentence="The attention factor of yarn was left at 1 where none is given.",
        engineer="mscale defaults to 1 and is never derived from the factor.",
        remedy="Take 0.1 ln s + 1 where no attention_factor is given.",
        function=departure(rotary_frequencies, yarn_attention_factor=one),
    ),
    mistake(
        id="rotary_frequencies.yarn_common_logarithm",
        clause="rotary_frequencies.attention_factor.yarn",
        sentence="The logarithm in the attention factor of yarn is the common one, not the natural one.",
        engineer="log10 stands in for ln.",
        remedy="Take the natural logarithm of the factor.",
        function=departure(
            rotary_frequencies,
            yarn_attention_factor=departure(yarn_attention_factor, magnitude=common_logarithm),
        ),
    ),
    mistake(
        id="rotary_frequencies.magnitudes_ignored",
        clause="rotary_frequencies.attention_factor.magnitudes",
        sentence="The two magnitude coefficients were ignored.",
        engineer="mscale and mscale_all_dim are not passed on; 0.1 * ln(factor) + 1 is taken.",
        remedy="Take the quotient of the two magnitudes where both coefficients are given and not 0.",
        function=departure(rotary_frequencies, yarn_attention_factor=without_magnitudes),
        source="https://github.com/vllm-project/vllm/issues/48621",
    ),
    mistake(
        id="rotary_frequencies.single_magnitude_heard",
        clause="rotary_frequencies.attention_factor.magnitudes",
        sentence="A single magnitude coefficient had an effect, although the other is missing or 0.",
        engineer="mscale defaults to 1 and mscale_all_dim to 0, as in DeepSeek's own code.",
        remedy="Take the quotient only where both coefficients are given and not 0; else 0.1 ln s + 1.",
        function=departure(rotary_frequencies, yarn_attention_factor=single_magnitude_heard),
    ),
    mistake(
        id="rotary_frequencies.magnitude_as_factor",
        clause="rotary_frequencies.attention_factor.magnitudes",
        sentence="The first magnitude coefficient was taken for the attention factor itself.",
        engineer="mscale is read as an alias of attention_factor.",
        remedy="Put both coefficients through 0.1 a ln s + 1 and divide.",
        function=departure(rotary_frequencies, yarn_attention_factor=magnitude_as_factor),
        source="https://github.com/youssofal/MTPLX/pull/394",
    ),
    mistake(
        id="rotary_frequencies.attention_factor_of_others_heard",
        clause="rotary_frequencies.attention_factor.one",
        sentence="A given attention factor was taken under a scaling that has none.",
        engineer="attention_factor is read before the scaling is looked at.",
        remedy="Take 1 under every scaling but longrope and yarn.",
        function=heard_under_every_scaling,
    ),
    mistake(
        id="rotary_frequencies.attention_factor_of_others_derived",
        clause="rotary_frequencies.attention_factor.one",
        sentence="The attention factor of yarn was taken under a scaling that has none.",
        engineer="0.1 * ln(factor) + 1 is applied wherever a factor is set.",
        remedy="Take 1 under every scaling but longrope and yarn.",
        function=derived_under_every_scaling,
    ),
)
"""What goes wrong under yarn scaling, and in the attention factor."""
