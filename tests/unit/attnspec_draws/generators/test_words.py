"""Streams give the words that the page says, by name, and none moves another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnspec_draws.generators.words import Stream, Words

from .by_hand import ByHand, words

SEEDS = st.text(max_size=20)
SIZES = st.integers(1, 2**40)


@given(SEEDS, st.integers(0, 40))
def test_words_are_those_of_hashed_counters(seed, count):
    assert Stream(seed).words(count).tolist() == words(seed, count)


def test_words_one_by_one_and_together_are_the_same_stream():
    stream = Stream("one")
    found = [stream.word(), *stream.words(3).tolist(), stream.word(), *stream.words(0).tolist(), stream.word()]
    assert found == words("one", 6)


@given(SEEDS, SIZES, SIZES, st.integers(0, 100))
def test_every_rule_is_the_one_by_hand(seed, one, other, share):
    stream, by_hand = Stream(seed), ByHand(seed)
    least, most = sorted((one, other))
    weights = {"a": share, "b": 1, "c": 0, "d": 7}
    called = [
        ("below", one),
        ("between", least, most),
        ("of_any_size", least, most),
        ("percent", share),
        ("one_of", "abcde"),
        ("weighted", weights),
        ("word",),
    ]
    for rule, *arguments in called:
        assert getattr(stream, rule)(*arguments) == getattr(by_hand, rule)(*arguments)


@given(SEEDS, SIZES, SIZES)
def test_whole_numbers_keep_to_their_range(seed, one, other):
    stream = Stream(seed)
    least, most = sorted((one, other))
    for rule in (stream.between, stream.of_any_size):
        assert all(least <= rule(least, most) <= most for _ in range(20))


def test_small_ranges_are_reached_whole():
    stream = Stream("whole")
    assert {stream.below(7) for _ in range(200)} == set(range(7))
    assert {stream.of_any_size(3, 9) for _ in range(300)} == set(range(3, 10))
    assert {stream.weighted({"a": 1, "never": 0, "b": 9}) for _ in range(200)} == {"a", "b"}
    assert not any(stream.percent(0) for _ in range(50))
    assert all(stream.percent(100) for _ in range(50))


def test_each_number_of_digits_is_as_likely():
    stream = Stream("digits")
    digits = [stream.of_any_size(1, 1023).bit_length() for _ in range(4000)]
    assert all(300 < digits.count(length) < 500 for length in range(1, 11))


@pytest.mark.parametrize("weights", [{}, {"a": 0, "b": 0}])
def test_weights_that_choose_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="not all be 0"):
        Stream("none").weighted(weights)


def test_a_stream_begins_anew_each_time_and_is_its_own():
    drawn = Words("seed")
    first = drawn.of("mask").words(4).tolist()
    drawn.of("scale").words(100)
    assert drawn.of("mask").words(4).tolist() == first == words("seed/mask", 4)
    assert not {*first} & {*drawn.of("masks").words(4).tolist(), *Words("other").of("mask").words(4).tolist()}


def test_a_variant_moves_what_varies_and_nothing_else():
    plain, varied = Words("seed"), Words("seed", variant=3)
    assert plain.varied("key").word() == plain.of("key").word()
    assert varied.of("key").word() == plain.of("key").word()
    assert varied.varied("key").words(3).tolist() == words("seed/key~3", 3)
