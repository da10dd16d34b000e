"""Intervals of fixed-point numbers: exponential, logarithm, hyperbolic tangent, square root.

An interval is two integers in units of ``2**-bits`` between which the exact number lies. Every operation rounds
its lower end down and its upper end up, so that no error ever leaves an interval.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

_GUARD = 64
"""More bits inside the exponential than outside."""

_HALVINGS = 10
"""The exponential of a number is that of its 2**10th part, squared ten times."""

_GUESSED_BITS = 60
"""Bits after the point that a guess takes from a float64, which has 53 in all; what it lacks, the improvement adds."""

_SLACK = 1 << 16
"""The half-width that is tried first around a logarithm. It is doubled until the exponential verifies it."""


class Interval(NamedTuple):
    """The two ends, in units that the owner knows."""

    low: int
    high: int

    def plus(self, other: Interval) -> Interval:
        """Add."""
        return Interval(self.low + other.low, self.high + other.high)

    def minus(self, other: Interval) -> Interval:
        """Subtract."""
        return Interval(self.low - other.high, self.high - other.low)

    def times(self, factor: int) -> Interval:
        """Multiply by an exact integer."""
        ends = (self.low * factor, self.high * factor)
        return Interval(min(ends), max(ends))

    def over(self, divisor: int) -> Interval:
        """Divide by an exact positive integer."""
        return Interval(self.low // divisor, -(-self.high // divisor))


class FixedPoint:
    """Arithmetic on intervals in units of ``2**-bits``.

    Parameters
    ----------
    bits
        The bits after the point.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.one = 1 << bits

    def enclose(self, number: Fraction) -> Interval:
        """Give the interval of a rational number."""
        return Interval(number.numerator << self.bits, number.numerator << self.bits).over(number.denominator)

    def inverse_root(self, number: int) -> Interval:
        """Enclose 1/sqrt(number)."""
        low = math.isqrt((self.one << self.bits) // number)
        return Interval(low, low + 1)

    def product(self, number: Fraction, interval: Interval) -> Interval:
        """Multiply an interval by a rational number."""
        return interval.times(number.numerator).over(number.denominator)

    def exponential(self, interval: Interval) -> Interval:
        """Enclose exp, which rises."""
        return Interval(self._exponential(interval.low).low, self._exponential(interval.high).high)

    def hyperbolic_tangent(self, interval: Interval) -> Interval:
        """Enclose tanh, which rises and is odd."""
        return Interval(self._hyperbolic_tangent(interval.low).low, self._hyperbolic_tangent(interval.high).high)

    def logarithm(self, interval: Interval) -> Interval:
        """Enclose log of positive numbers: a guess, improved, and then verified by its exponential."""
        if interval == (self.one, self.one):
            return Interval(0, 0)
        guess = int(math.log(interval.low / self.one) * 2**_GUESSED_BITS) << (self.bits - _GUESSED_BITS)
        for _ in range(self.bits.bit_length()):  # each round doubles the correct bits
            power = self._exponential(guess).low
            guess += (interval.low - power) * self.one // power
        slack = _SLACK
        while (
            self._exponential(guess - slack).high > interval.low or self._exponential(guess + slack).low < interval.high
        ):
            slack *= 2
        return Interval(guess - slack, guess + slack)

    def _hyperbolic_tangent(self, number: int) -> Interval:
        if number < 0:
            mirrored = self._hyperbolic_tangent(-number)
            return Interval(-mirrored.high, -mirrored.low)
        # tanh(x) = (1 - u) / (1 + u) with u = exp(-2x), which falls as u rises
        power = self._exponential(-2 * number)
        return Interval(
            (self.one - power.high) * self.one // (self.one + power.high),
            -((power.low - self.one) * self.one // (self.one + power.low)),
        )

    def _exponential(self, number: int) -> Interval:
        if number == 0:
            return Interval(self.one, self.one)
        inner = self.bits + _GUARD
        logarithm = logarithm_of_2(inner)
        scaled = number << _GUARD
        doublings = scaled // logarithm.high
        if doublings < -inner:
            return Interval(0, 1)
        rest = Interval(scaled, scaled).minus(logarithm.times(doublings))
        while rest.low < 0:
            doublings -= 1
            rest = rest.plus(logarithm)
        power = power_series(rest.over(1 << _HALVINGS), inner)
        for _ in range(_HALVINGS):
            power = Interval(power.low * power.low, power.high * power.high).over(1 << inner)
        if doublings >= 0:
            return power.times(1 << doublings).over(1 << _GUARD)
        return power.over(1 << (_GUARD - doublings))


def power_series(interval: Interval, bits: int) -> Interval:
    """Enclose exp of numbers from 0 to 1/2: the sum of their powers over factorials."""
    total = term = Interval(1 << bits, 1 << bits)
    index = 0
    while term.high > 1:
        index += 1
        term = Interval(term.low * interval.low, term.high * interval.high).over(index << bits)
        total = total.plus(term)
    # The terms left out are each at most half of the one before.
    return Interval(total.low, total.high + term.high)


@cache
def logarithm_of_2(bits: int) -> Interval:
    """Enclose log(2) = 18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749)."""
    parts = [inverse_hyperbolic_tangent(number, bits + _GUARD).times(factor) for number, factor in _LOGARITHM_OF_2]
    return parts[0].plus(parts[1]).plus(parts[2]).over(1 << _GUARD)


_LOGARITHM_OF_2 = ((26, 18), (4801, -2), (8749, 8))


def inverse_hyperbolic_tangent(number: int, bits: int) -> Interval:
    """Enclose artanh(1/number), the sum of 1 / (k * number**k) over odd k, for numbers from 2."""
    total, index, power = 0, 1, (1 << bits) // number
    while power:
        total += power // index
        power //= number * number
        index += 2
    # Each of the at most `index` floors, and all that is left out, is worth less than one unit.
    return Interval(total, total + 2 * index)
