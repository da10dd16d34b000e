"""Words: the algorithm of the page, computed here once more; streams that do not move each other."""

import numpy as np
import pytest

from attnspec.lattice import REVERSED, Stream, Words

WORD = (1 << 64) - 1


def fnv(text):
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & WORD
    return digest


def split_mix(state):
    mixed = (state + 0x9E3779B97F4A7C15) & WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & WORD
    return mixed ^ (mixed >> 31)


def expected(seed, count):
    base = split_mix(fnv(seed))
    return [split_mix((base + place) & WORD) for place in range(count)]


def test_words_are_hashed_counters():
    stream = Stream("attention")
    assert [stream.word() for _ in range(3)] == expected("attention", 3)
    assert stream.word() == expected("attention", 4)[3]


def test_words_that_are_drawn_together_are_those_that_are_drawn_alone():
    stream = Stream("attention")
    first = stream.word()
    assert [first, *stream.words(5).tolist(), stream.word()] == expected("attention", 7)


def test_a_name_has_a_stream_of_its_own():
    words = Words("softly/7")
    assert words.of("mask").word() == expected("softly/7/mask", 1)[0]
    assert words.of("mask").word() == words.of("mask").word() != words.of("key").word()


def test_variants_differ_where_numbers_are_varied_alone():
    first, second, backwards = (Words("softly/7", variant) for variant in (0, 1, REVERSED))
    assert first.of("mask").word() == second.of("mask").word()
    assert first.varied("key").words(4).tolist() != second.varied("key").words(4).tolist()
    assert first.varied("key").words(4).tolist() == backwards.varied("key").words(4).tolist()[::-1]


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 8), (9, 4096), (3, 5)])
def test_numbers_of_any_size_lie_between_their_limits(least, most):
    stream = Stream("sizes")
    drawn = [stream.of_any_size(least, most) for _ in range(2_000)]
    assert (min(drawn), max(drawn)) == (least, most) if most < 100 else least <= min(drawn) <= max(drawn) <= most
    digits = {length.bit_length() for length in drawn}
    assert digits == set(range(least.bit_length(), most.bit_length() + 1))


def test_choices_come_as_often_as_they_should():
    stream = Stream("choices")
    drawn = [stream.weighted({"often": 9, "never": 0, "seldom": 1}) for _ in range(4_000)]
    assert set(drawn) == {"often", "seldom"}
    assert 300 < drawn.count("seldom") < 500
    assert 900 < sum(stream.percent(25) for _ in range(4_000)) < 1_100
    assert {stream.between(3, 5) for _ in range(100)} == {3, 4, 5}


def test_no_choice_is_told():
    with pytest.raises(ValueError, match="not all be 0"):
        Stream("choices").weighted({"never": 0})


def test_numbers_are_whole_where_they_should_be():
    from attnspec.lattice import coarse, full_width, whole_numbers

    assert set(whole_numbers(Stream("whole"), (500,), -2, 2).tolist()) == {-2, -1, 0, 1, 2}
    numbers = coarse(Stream("coarse"), (50, 40))
    assert np.array_equal(numbers * 32, np.round(numbers * 32))
    assert abs(numbers).max() <= 62 / 32
    wide = full_width(Stream("wide"), (1_000,), "float32")
    assert np.array_equal(wide, wide.astype(np.float32))
    assert (wide * 2**20 != np.round(wide * 2**20)).any()
    assert abs(wide).max() <= 2
