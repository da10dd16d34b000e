"""Drawn numbers: of few digits, of every digit, and whole."""

import numpy as np
import pytest

from attnspec.contract.dtypes import FLOAT_DTYPES, rounded_to
from attnspec_draws.generators.words import Stream, coarse, full_width, whole_numbers

from .by_hand import words

SHAPE = (3, 5, 40)


def test_coarse_numbers_are_sums_of_four_fields():
    found = coarse(Stream("coarse"), SHAPE)
    sums = [sum(word // 2**field % 32 for field in (0, 16, 32, 48)) for word in words("coarse", found.size)]
    assert found.shape == SHAPE
    assert found.ravel().tolist() == [(total - 62) / 32 for total in sums]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_every_dtype_holds_coarse_numbers_and_their_multiples(dtype):
    found = coarse(Stream("bounded"), (4000,))
    for factor in (1.0, 2.0, 64.0, 2.0**-10):
        assert np.array_equal(rounded_to(found * factor, dtype), found * factor)
    assert 1.7 < np.abs(found).max() <= 1.9375
    assert abs(found.mean()) < 0.05


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 53), ("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_numbers_of_full_width_need_every_digit_of_their_dtype(dtype, digits):
    found = full_width(Stream("wide"), (2000,), dtype)
    exact = [(word // 2**10 - 2**53) / 2**52 for word in words("wide", 2000)]
    assert np.array_equal(found, rounded_to(np.array(exact), dtype))
    assert np.array_equal(found, rounded_to(found, dtype))
    fractions, _ = np.frexp(found)
    shorter = np.ldexp(fractions, digits - 1) % 1 == 0
    assert 0.3 < shorter.mean() < 0.8


@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 99), (-4, 4), (1, 65_536)])
def test_whole_numbers_come_from_the_highest_bits(least, most):
    found = whole_numbers(Stream("whole"), SHAPE, least, most)
    count = most - least + 1
    assert found.dtype == np.int64
    assert found.ravel().tolist() == [least + word // 2**48 * count // 2**16 for word in words("whole", found.size)]


@pytest.mark.parametrize("draw", [coarse, lambda stream, shape: full_width(stream, shape, "float32")])
def test_nothing_is_drawn_for_nothing(draw):
    stream = Stream("none")
    assert draw(stream, (2, 0, 3)).shape == (2, 0, 3)
    assert stream.word() == words("none", 1)[0]
