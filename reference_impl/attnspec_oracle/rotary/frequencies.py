"""The frequencies of rotary positions and their attention factor, enclosed in balls.

Attributes are taken as the exact float64 numbers that they are, and the constants of the formulas (0.1 and 0.001) as
the decimals that the specification writes. No frequency can lie in the middle between two float64 numbers: it is
transcendental, or a power of whole numbers that is rational with few digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from flint import arb, fmpq

from attnspec_oracle.certification import Quantity
from attnspec_oracle.interface import OracleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


UNDECIDED = arb("nan")
"""What a formula gives while its ball is too wide to choose a branch; a tighter ball is then requested."""


@dataclass(frozen=True)
class Computed(Quantity):
    """A row of numbers, each enclosed by a formula at the working precision.

    Attributes
    ----------
    ball
        Encloses the number at a position of the row.
    """

    ball: Callable[[int], arb]

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the numbers at some positions."""
        return [self.ball(position) for position in positions]


def between_0_and_1(ball: arb) -> arb:
    """Enclose the nearest number between 0 and 1."""
    if ball <= 0:
        return arb(0)
    if ball >= 1:
        return arb(1)
    return ball if ball > 0 and ball < 1 else UNDECIDED


Parameter = TypeVar("Parameter")

SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")

_NEAR = 0.01
"""How near a whole number an end of a yarn range may not lie: a float32 computation might round it otherwise."""

_TENTH, _THOUSANDTH = fmpq(1, 10), fmpq(1, 1000)


@dataclass(frozen=True)
class Frequencies:
    """The configuration of rotary frequencies; the attributes have the names and defaults of the specification."""

    width: int
    theta: float = 10000.0
    scaling: str = "none"
    factor: float | None = None
    original_length: int | None = None
    sequence_length: int | None = None
    low_frequency_factor: float | None = None
    high_frequency_factor: float | None = None
    short_factors: Sequence[float] | None = None
    long_factors: Sequence[float] | None = None
    proportion: float = 1.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    magnitude_scaling: float | None = None
    magnitude_scaling_all_dimensions: float | None = None
    attention_factor: float | None = None

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise ValueError(f"scaling is {self.scaling!r}; it is one of {', '.join(SCALINGS)}.")

    def frequency(self, pair: int) -> arb:
        """Enclose the inverse frequency of a pair."""
        frequency = self._power(pair)
        match self.scaling:
            case "linear":
                return frequency / self._factor
            case "llama3":
                kept = between_0_and_1(self._waves_above_low(frequency) / self._waves_between())
                return kept * frequency + (1 - kept) * frequency / self._factor
            case "longrope":
                factors = self.long_factors if self._length > _given(self.original_length) else self.short_factors
                return frequency / arb(_given(factors)[pair])
            case "proportional":
                return frequency / self._factor if pair < self._pairs_kept() else arb(0)
            case "yarn":
                divided = self._ramp(pair)
                return divided * frequency / self._factor + (1 - divided) * frequency
            case _:
                return frequency

    def factor_of_tables(self) -> arb:
        """Enclose the attention factor."""
        if self.scaling not in ("longrope", "yarn"):
            return arb(1)
        if self.attention_factor is not None:
            return arb(self.attention_factor)
        if self.scaling == "longrope":
            return (1 + self._factor.log() / arb(_given(self.original_length)).log()).sqrt()
        if self.magnitude_scaling and self.magnitude_scaling_all_dimensions:
            return self._magnitude(self.magnitude_scaling) / self._magnitude(self.magnitude_scaling_all_dimensions)
        return self._magnitude(1.0)

    @property
    def _factor(self) -> arb:
        """The factor; 1 where it is not given, which only the scaling ``proportional`` allows."""
        return arb(1.0 if self.factor is None else self.factor)

    @property
    def _length(self) -> int:
        """The tokens of the text, at least as many as the original length."""
        return max(_given(self.original_length), self.sequence_length or 0)

    def _power(self, pair: int) -> arb:
        return (self._base().log() * arb(fmpq(-2 * pair, self.width))).exp()

    def _base(self) -> arb:
        theta = arb(self.theta)
        if self.scaling != "dynamic":
            return theta
        stretch = self._factor * arb(fmpq(self._length, _given(self.original_length))) - self._factor + 1
        return theta * (stretch.log() * arb(fmpq(self.width, self.width - 2))).exp()

    def _waves_above_low(self, frequency: arb) -> arb:
        return _given(self.original_length) * frequency / (2 * arb.pi()) - arb(_given(self.low_frequency_factor))

    def _waves_between(self) -> arb:
        return arb(_given(self.high_frequency_factor)) - arb(_given(self.low_frequency_factor))

    def _pairs_kept(self) -> int:
        kept = Fraction(self.proportion) * self.width / 2
        nearest = round(kept)
        if kept != nearest and abs(kept - nearest) < _NEAR:
            raise OracleError(
                f"the proportion {self.proportion} of {self.width // 2} pairs is too near {nearest} pairs."
            )
        return math.floor(kept)

    def _ramp(self, pair: int) -> arb:
        low, high = self._end(self.beta_fast), self._end(self.beta_slow)
        if self.truncate:
            low, high = arb(_whole(low, math.floor)), arb(_whole(high, math.ceil))
        if self.beta_fast == self.beta_slow and not self.truncate and low > 0 and low < self.width - 1:
            # Two balls around one number are never seen to be equal.
            return between_0_and_1((pair - low) / arb(_THOUSANDTH))
        low = low if low > 0 else arb(0) if low <= 0 else UNDECIDED
        high = high if high < self.width - 1 else arb(self.width - 1) if high >= self.width - 1 else UNDECIDED
        if low == high:
            high = high + arb(_THOUSANDTH)
        return between_0_and_1((pair - low) / (high - low))

    def _end(self, turns: float) -> arb:
        """Enclose the pair that turns so many times within the original length."""
        within = arb(_given(self.original_length)) / (2 * arb.pi() * arb(turns))
        return self.width * within.log() / (2 * arb(self.theta).log())

    def _magnitude(self, coefficient: float) -> arb:
        return arb(_TENTH) * arb(coefficient) * self._factor.log() + 1


def _whole(end: arb, rounding: Callable[[float], int]) -> int:
    """Round an end of a range, which must not be near a whole number."""
    middle = float(end)
    if abs(middle - round(middle)) < _NEAR:
        raise OracleError(f"an end of the range, {middle:.4f}, is too near a whole number; change original_length.")
    return rounding(middle)


def _given(parameter: Parameter | None) -> Parameter:
    if parameter is None:
        raise ValueError("The scaling needs a parameter that is not given.")
    return parameter
