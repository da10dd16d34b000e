"""Intervals contain what they enclose, and are narrow."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from attnspec_oracle.by_integers.fixed_point import (
    FixedPoint,
    Interval,
    inverse_hyperbolic_tangent,
    logarithm_of_2,
    power_series,
)

BITS = 192
ARITHMETIC = FixedPoint(BITS)
NUMBERS = ["0", "1e-40", "-1e-40", "0.3", "-0.7", "1", "-1", "12.5", "-12.5", "-90", "-133", "-134", "-5000"]


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(200):
        yield


def width_around(exact, interval: Interval) -> int:
    assert interval.low <= exact * mpmath.mpf(2) ** BITS <= interval.high
    return interval.high - interval.low


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize(
    ("function", "enclosed", "slope"),
    [
        (mpmath.exp, ARITHMETIC.exponential, mpmath.exp),
        (mpmath.tanh, ARITHMETIC.hyperbolic_tangent, lambda number: 2),
    ],
)
def test_functions_are_enclosed(text, function, enclosed, slope) -> None:
    interval = ARITHMETIC.enclose(Fraction(text))
    assert width_around(mpmath.mpf(text), interval) <= 1
    number = mpmath.mpf(text)
    assert width_around(function(number), enclosed(interval)) <= 4 + 4 * slope(number)


@pytest.mark.parametrize("text", ["1", "1.0000000000000000000000001", "1.5", "2", "1000.25"])
def test_the_logarithm_is_enclosed(text) -> None:
    got = ARITHMETIC.logarithm(ARITHMETIC.enclose(Fraction(text)))
    assert width_around(mpmath.log(mpmath.mpf(text)), got) <= 2**17
    assert text != "1" or got == (0, 0)


@pytest.mark.parametrize("number", [1, 2, 3, 8, 9, 64, 1000003])
def test_the_inverse_root_is_enclosed(number) -> None:
    assert width_around(1 / mpmath.sqrt(number), ARITHMETIC.inverse_root(number)) == 1


def test_the_logarithm_of_2_is_enclosed() -> None:
    assert width_around(mpmath.log(2), logarithm_of_2(BITS)) <= 2


def test_ends_are_rounded_outwards() -> None:
    assert Interval(-5, 5).over(2) == (-3, 3)
    assert Interval(1, 4).times(-3) == (-12, -3)
    assert Interval(1, 2).minus(Interval(5, 9)) == (-8, -3)
    assert ARITHMETIC.product(Fraction(-1, 3), Interval(10, 20)) == (-7, -3)


def test_series_enclose_what_they_leave_out_at_any_number_of_bits() -> None:
    # Where the units are coarse, every unit of an error bound shows.
    for bits in range(1, 40):
        unit = mpmath.mpf(2) ** bits
        for number in (2, 3, 26):
            got = inverse_hyperbolic_tangent(number, bits)
            assert got.low <= mpmath.atanh(mpmath.mpf(1) / number) * unit <= got.high
        for small in range((1 << bits) // 2 + 1)[:40]:
            got = power_series(Interval(small, small), bits)
            assert got.low <= mpmath.exp(small / unit) * unit <= got.high
