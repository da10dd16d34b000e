"""From exact numbers and balls to the nearest float64.

A ball is a midpoint and a radius, both dyadic (an integer times a power of two), that enclose an exact real
number. It decides a float64 when its two ends round to the same one; every number between them then does
too.

Only the integers behind a ball are read. Conversions that the ball library offers itself may round twice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from flint import arb

_OVERFLOW = 1024
"""Every number of at least 2**1024 rounds to infinity."""

_UNDERFLOW = -1076
"""Two numbers below 2**-1076 have a sum that rounds to zero, since half of the least float64 is 2**-1075."""

_WINDOW = 1 << 15
"""Bits below the top of a midpoint that are looked at; a smaller radius is widened, which stays safe."""

_LEAST_CANDIDATE, _GREATEST_CANDIDATE = 2.0**-900, 2.0**1000
"""Between them neither a candidate nor its distance from a ball comes near the ends of the float64 range."""

_ACCURACY = 70
"""Bits of a midpoint that a radius must leave, for a candidate to be verified."""

_WELL_BELOW_HALF = 0.499
"""How near a candidate must be to the midpoint of a ball, in steps to its neighbour.

The radius is below 2**(2 - _ACCURACY) of the candidate, hence below a thousandth of a step: the whole ball then lies
less than half a step away.
"""


def round_fraction(value: Fraction) -> float:
    """Round a rational number to the nearest float64, ties to even; a zero is +0."""
    # CPython divides integers with a single, correct rounding, subnormal results included.
    try:
        return value.numerator / value.denominator + 0.0
    except OverflowError:
        return _infinity(value.numerator)


def round_dyadic(mantissa: int, exponent: int) -> float:
    """Round ``mantissa * 2**exponent`` to the nearest float64, ties to even; a zero is +0."""
    size = mantissa.bit_length() + exponent
    # The exponent of a ball may have hundreds of bits, and such a shift would fill the memory.
    if mantissa == 0 or size <= _UNDERFLOW:
        return 0.0
    if size > _OVERFLOW:
        return _infinity(mantissa)
    try:
        return (float(mantissa << exponent) if exponent >= 0 else mantissa / (1 << -exponent)) + 0.0
    except OverflowError:
        return _infinity(mantissa)


def round_ball(ball: arb) -> float | None:
    """Give the float64 nearest to every number in a ball, or None when the ball does not decide it.

    Parameters
    ----------
    ball
        An enclosure of an exact real number, at whatever precision.

    Returns
    -------
    float or None
        The correctly rounded value of the enclosed number, with +0 for every zero; infinity from the
        overflow threshold on. None asks for a tighter ball.
    """
    if not ball.is_finite():
        return None
    if ball.is_zero():
        return 0.0
    candidate = float(ball)
    if _LEAST_CANDIDATE < abs(candidate) < _GREATEST_CANDIDATE and _is_nearest(candidate, ball):
        return candidate
    mantissa, exponent = map(int, ball.mid().man_exp())
    if ball.is_exact():
        return round_dyadic(mantissa, exponent)
    radius, radius_exponent = map(int, ball.rad().man_exp())
    extent = radius.bit_length() + radius_exponent  # the radius is below 2**extent
    size = mantissa.bit_length() + exponent  # the midpoint is below 2**size
    if extent <= _UNDERFLOW and (mantissa == 0 or size <= _UNDERFLOW):
        return 0.0
    if mantissa == 0 or extent >= size:
        return None
    extent = max(extent, size - _WINDOW)
    unit = min(exponent, extent)
    middle, width = mantissa << (exponent - unit), 1 << (extent - unit)
    low, high = round_dyadic(middle - width, unit), round_dyadic(middle + width, unit)
    return low if low == high else None


def _is_nearest(candidate: float, ball: arb) -> bool:
    """Say whether a number is seen, without a look at the integers, to be nearest to all of a ball.

    The conversions to float64 may be off by a unit, so nothing rests on them: the candidate is verified by its
    distance from the ball, which is well below half the way to either neighbour.
    """
    if ball.rel_accuracy_bits() < _ACCURACY:
        return False
    step = abs(candidate) - math.nextafter(abs(candidate), 0.0)  # the smaller one at a power of two
    return abs(float(ball - candidate)) < _WELL_BELOW_HALF * step


def _infinity(sign: int) -> float:
    return math.inf if sign > 0 else -math.inf
