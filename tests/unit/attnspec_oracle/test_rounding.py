"""Rounding from fractions and balls, compared with CPython's division of integers."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from attnspec_oracle.rounding import round_ball, round_dyadic, round_fraction

GREATEST = float.fromhex("0x1.fffffffffffffp+1023")
LEAST = 5e-324
OVERFLOW = Fraction(2) ** 1024 - Fraction(2) ** 970  # from here on the nearest float64 is infinity
TIE = Fraction(1) + Fraction(1, 2**53)


def ball_of(mantissa: int, exponent: int, radius: int = 0, radius_exponent: int = 0):
    from flint import arb

    return arb((mantissa, exponent), (radius, radius_exponent))


def dyadic(value: Fraction) -> tuple[int, int]:
    """The mantissa and exponent of a fraction whose denominator is a power of two."""
    return value.numerator, 1 - value.denominator.bit_length()


def fraction_of(part) -> Fraction:
    mantissa, exponent = (int(number) for number in part.man_exp())
    return mantissa * Fraction(2) ** exponent


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(0), 0.0),
        (Fraction(1, 3), 1 / 3),
        (TIE, 1.0),
        (TIE + Fraction(1, 2**52), 1.0 + 2**-51),
        (TIE + Fraction(1, 2**900), 1.0 + 2**-52),
        (-TIE, -1.0),
        (Fraction(1, 2**1074), LEAST),
        (Fraction(1, 2**1075), 0.0),
        (Fraction(-1, 2**1075), 0.0),
        (Fraction(1, 2**1075) + Fraction(1, 2**2000), LEAST),
        (Fraction(3, 2**1075), 1e-323),
        (Fraction(1, 2**5000), 0.0),
        (OVERFLOW, math.inf),
        (-OVERFLOW, -math.inf),
        (OVERFLOW - Fraction(1, 2**100), GREATEST),
        (Fraction(2) ** 5000, math.inf),
    ],
)
def test_rounds_to_the_nearest_with_ties_to_even(value: Fraction, expected: float) -> None:
    mantissa, exponent = dyadic(value) if value != Fraction(1, 3) else (0, 0)
    rounded = [round_fraction(value)]
    if mantissa or value == 0:
        rounded += [round_dyadic(mantissa, exponent), round_ball(ball_of(mantissa, exponent))]
    for number in rounded:
        assert number == expected
        assert number != 0 or math.copysign(1, number) == 1


def test_large_integers_round_without_a_shift_that_fills_the_memory() -> None:
    assert round_dyadic(-5, 10**18) == -math.inf
    assert round_dyadic(5, -(10**18)) == 0.0


@pytest.mark.parametrize(
    ("middle", "radius_exponent", "expected"),
    [
        (Fraction(1), -60, 1.0),
        (Fraction(1), -53, None),
        (TIE, -200, None),
        (TIE + Fraction(1, 2**100), -102, 1.0 + 2**-52),
        (TIE - Fraction(1, 2**100), -102, 1.0),
        (Fraction(0), -1100, 0.0),
        (Fraction(0), -1000, None),
        (Fraction(1, 2**1080), -1100, 0.0),
        (Fraction(1, 2**1075), -1100, None),
        (Fraction(3, 2**1076), -1100, LEAST),
        (Fraction(-3, 2**1076), -1100, -LEAST),
        (OVERFLOW + 1, -10, math.inf),
        (OVERFLOW, -10, None),
        (-OVERFLOW - 1, -10, -math.inf),
        (Fraction(2) ** 3000, 2000, math.inf),
        (Fraction(1), -(10**15), 1.0),
        (Fraction(1, 2**300), 20, None),
    ],
)
def test_a_ball_decides_only_when_it_lies_on_one_side(
    middle: Fraction, radius_exponent: int, expected: float | None
) -> None:
    assert round_ball(ball_of(*dyadic(middle), 1, radius_exponent)) == expected


def test_balls_without_an_end_decide_nothing() -> None:
    from flint import arb

    assert round_ball(arb("nan")) is None
    assert round_ball(arb("inf")) is None
    assert round_ball(arb(1) / arb(0, 1)) is None


def test_an_exponential_beyond_every_exponent_is_zero() -> None:
    from flint import arb

    assert round_ball(arb(-(10**300)).exp()) == 0.0


def test_random_balls_agree_with_the_rounding_of_their_two_ends() -> None:
    source = random.Random(7)
    decided = 0
    for _ in range(3000):
        # Middles close to a middle between two float64 numbers, in the normal and the subnormal range.
        exponent = source.choice([-1080, -1074, -1060, -600, -52, 0, 900, 970])
        middle = (source.getrandbits(55) << 40) + source.randint(-(2**30), 2**30)
        ball = ball_of(middle, exponent - 40, source.getrandbits(20), exponent - 40 + source.randint(-20, 20))
        centre, radius = fraction_of(ball.mid()), fraction_of(ball.rad())
        low, high = round_fraction(centre - radius), round_fraction(centre + radius)
        rounded = round_ball(ball)
        assert rounded is None or rounded == low == high
        decided += rounded is not None
    assert 1000 < decided < 3000
