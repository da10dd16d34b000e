"""What goes wrong in rotary frequencies before any scaling: the powers, the base, settings that are not asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies

if TYPE_CHECKING:
    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "rotary_frequencies"


def under(scaling: str, departed: Computation) -> Computation:
    """Go wrong under one scaling alone."""

    def computation(**arguments: Any) -> Any:
        return (departed if arguments.get("scaling") == scaling else rotary_frequencies)(**arguments)

    return computation


def without(scaling: str) -> Computation:
    """Leave a scaling out."""
    return under(scaling, altered(rotary_frequencies, scaling=lambda _scaling: "none"))


def powers_over_all_features(base: float, width: int) -> Array:
    """Forget that two features share a frequency."""
    return np.power(np.float64(base), -np.arange(width // 2) / width)


def powers_from_one(base: float, width: int) -> Array:
    """Count the pairs from 1."""
    return np.power(np.float64(base), -2.0 * np.arange(1, width // 2 + 1) / width)


def powers_to_the_end(base: float, width: int) -> Array:
    """Let the last frequency be one over the base, as sinusoidal positions have it."""
    return np.power(np.float64(base), -np.arange(width // 2) / max(width // 2 - 1, 1))


def powers_inverted(base: float, width: int) -> Array:
    """Leave out the minus in the exponent."""
    return np.power(np.float64(base), 2.0 * np.arange(width // 2) / width)


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


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="rotary_frequencies.theta_ignored",
        clause="rotary_frequencies.theta",
        sentence="The base was 10000, whatever theta says.",
        engineer="rope_theta is not read from the configuration.",
        remedy="Take theta as the base, and 10000 only where it is not given.",
        function=ignoring(rotary_frequencies, "theta"),
        source="https://github.com/sgl-project/SpecForge/issues/265",
    ),
    mistake(
        id="rotary_frequencies.exponent_halved",
        clause="rotary_frequencies.powers",
        sentence="The exponents are half of what they must be: pair i has -i/R instead of -2i/R.",
        engineer="arange(R / 2) / R stands in for arange(0, R, 2) / R.",
        remedy="Raise the base to the power -2i/R, or divide i by the number of pairs.",
        function=departure(rotary_frequencies, powers_of=powers_over_all_features),
    ),
    mistake(
        id="rotary_frequencies.counted_from_one",
        clause="rotary_frequencies.powers",
        sentence="The pairs were counted from 1, so the first frequency is not 1.",
        engineer="The exponents start at -2/R: the paper counts from 1 and subtracts 1.",
        remedy="Let the first exponent be 0.",
        function=departure(rotary_frequencies, powers_of=powers_from_one),
    ),
    mistake(
        id="rotary_frequencies.last_is_one_over_theta",
        clause="rotary_frequencies.powers",
        sentence="The frequencies run down to one over theta itself, as those of sinusoidal positions do.",
        engineer="The exponents are i / (R/2 - 1), the timing signal of tensor2tensor.",
        remedy="Divide 2i by R, so that the last exponent is -(R - 2)/R.",
        function=departure(rotary_frequencies, powers_of=powers_to_the_end),
    ),
    mistake(
        id="rotary_frequencies.inverted",
        clause="rotary_frequencies.powers",
        sentence="The frequencies grow from pair to pair: the minus in the exponent is missing.",
        engineer="The position is multiplied by theta^(2i/R) where it is to be divided by it.",
        remedy="Raise the base to the power -2i/R.",
        function=departure(rotary_frequencies, powers_of=powers_inverted),
        source="https://github.com/xlite-dev/LeetCUDA/issues/289",
    ),
    mistake(
        id="rotary_frequencies.of_every_feature",
        clause="rotary_frequencies.powers",
        sentence="There is a frequency for each feature instead of one for each pair.",
        engineer="The frequencies are concatenated with themselves before they are returned.",
        remedy="Return R/2 frequencies; a table may repeat them later.",
        function=of_every_feature,
    ),
    mistake(
        id="rotary_frequencies.factor_without_scaling",
        clause="rotary_frequencies.parameters",
        sentence="The frequencies were divided by a factor although there is no scaling.",
        engineer="A factor in the configuration switches linear scaling on.",
        remedy="Let the scaling alone decide which parameters are heard.",
        function=factor_without_scaling,
    ),
    mistake(
        id="rotary_frequencies.linear_with_stretched_base",
        clause="rotary_frequencies.parameters",
        sentence="Under linear scaling the base was stretched for long texts, too.",
        engineer="The dynamic rewrite of the base is gated on the length alone, not on the scaling.",
        remedy="Stretch the base under dynamic scaling only.",
        function=linear_with_stretched_base,
        source="https://github.com/ml-explore/mlx-lm/pull/1562",
    ),
    mistake(
        id="rotary_frequencies.linear_multiplied",
        clause="rotary_frequencies.linear",
        sentence="Linear scaling multiplied the frequencies by the factor, so that texts get shorter.",
        engineer="The factor is taken for its inverse, the scale of positions.",
        remedy="Divide the frequencies by the factor.",
        function=under("linear", departure(rotary_frequencies, divide=linear_multiplied)),
        source="https://github.com/ml-explore/mlx/pull/261",
    ),
    mistake(
        id="rotary_frequencies.linear_ignored",
        clause="rotary_frequencies.linear",
        sentence="Linear scaling had no effect.",
        engineer="The scaling is parsed and never applied.",
        remedy="Divide the frequencies by the factor.",
        function=without("linear"),
    ),
)
"""What goes wrong without a scaling, and under linear scaling."""
