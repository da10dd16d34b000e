"""Trivial answers of caches answer what their sentences say."""

import numpy as np
import pytest

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered


def answer(operation, name, inputs, **attributes):
    (found,) = (each for each in random_cases_of(operation).trivial_answers[operation] if each.name == name)
    return found.answer(Answered(inputs, attributes, reference_outputs(operation, inputs, attributes)))


def column(*numbers):
    """Tokens of one feature, in one head of one batch entry."""
    return np.array(numbers, np.float64).reshape(1, 1, -1, 1)


def test_new_tokens_before_the_past_and_others_in_the_opposite_order():
    inputs = {"past_key": column(1, 2), "past_value": column(3, 4), "key": column(5), "value": column(6)}
    assert answer("append_cache", "new_first", inputs)["present_key"].ravel().tolist() == [5, 1, 2]
    assert answer("append_cache", "new_first", inputs)["present_value"].ravel().tolist() == [6, 3, 4]
    assert answer("append_cache", "backwards", inputs)["present_key"].ravel().tolist() == [5, 2, 1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unwritten", [[0, 0, 0], [0, 0, 0]]),
        ("first_entry", [[0, 1, 2], [0, 3, 4]]),
        ("from_the_start", [[1, 2, 0], [3, 4, 0]]),
        ("backwards", [[0, 2, 1], [4, 3, 0]]),
    ],
)
def test_tokens_at_other_indices_of_a_cache(name, expected):
    update = np.array([[1.0, 2.0], [3.0, 4.0]])[:, np.newaxis, :, np.newaxis]
    inputs = {"cache": np.zeros((2, 1, 3, 1)), "update": update, "write_indices": np.array([1, 0])}
    assert answer("scatter_cache", name, inputs)["present"][:, 0, :, 0].tolist() == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unwritten", [0, 0, 0, 0]),
        ("next_slot", [4, 3, 1, 0]),
        ("in_order", [1, 3, 0, 4]),
        ("last_for_skipped", [3, 1, 0, 4]),
        ("backwards", [2, 4, 0, 1]),
    ],
)
def test_tokens_in_other_slots(name, expected):
    pool = np.zeros((2, 2, 1, 1))
    tokens = np.array([1.0, 2.0, 3.0, 4.0])[:, np.newaxis, np.newaxis]
    slots = np.array([1, -1, 0, 3])
    inputs = {"key_pool": pool, "value_pool": pool, "key": tokens, "value": -tokens, "slot_mapping": slots}
    got = answer("write_slots", name, inputs)
    assert got["present_value"].ravel().tolist() == [-number for number in got["present_key"].ravel().tolist()]
    assert got["present_key"].ravel().tolist() == expected


def test_answers_beside_an_optional_input():
    inputs = {"cache": column(0, 0), "update": column(1, 2), "step_lengths": np.array([1, 1])}
    assert answer("scatter_cache", "history_of_the_end", inputs)["history"].ravel().tolist() == [1, 2, 1, 2]
    pool, tokens = np.zeros((1, 1, 1, 1), np.int8), np.full((1, 1, 1), 3.0)
    inputs = {"key_pool": pool, "value_pool": pool, "key": tokens, "value": tokens, "slot_mapping": np.array([0])}
    scales = {name: np.array(0.25) for name in ("key_scale", "value_scale")}
    assert answer("write_slots", "unscaled", inputs | scales)["present_key"].item() == 3


def test_pages_in_the_order_of_the_pool():
    pool, tokens = np.zeros((2, 1, 1, 1)), np.array([5.0, 6.0])[:, np.newaxis, np.newaxis]
    inputs = {"key_pool": pool, "value_pool": pool, "key": tokens, "value": tokens}
    inputs |= {"batch_indices": np.array([0, 0]), "positions": np.array([0, 1])}
    inputs |= {"page_indices": np.array([1, 0]), "page_starts": np.array([0, 2])}
    assert answer("write_paged_cache", "without_table", inputs)["present_key"].ravel().tolist() == [5, 6]
    assert answer("write_paged_cache", "backwards", inputs)["present_key"].ravel().tolist() == [5, 6]
    assert answer("write_paged_cache", "unwritten", inputs)["present_key"].ravel().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unwritten", [[1, 2, 3], [1, 2, 3]]),
        ("no_keep", [[9, 2, 3], [1, 9, 3]]),
        ("from_the_start", [[9, 2, 3], [9, 2, 3]]),
        ("first_length", [[1, 9, 3], [1, 9, 3]]),
        ("next_slot", [[1, 2, 9], [1, 2, 9]]),
    ],
)
def test_a_window_at_other_lengths(name, expected):
    cache, new = np.tile(column(1, 2, 3), (2, 1, 1, 1)), np.tile(column(9), (2, 1, 1, 1))
    inputs = {"key_cache": cache, "value_cache": cache, "key": new, "value": new, "past_lengths": np.array([3, 1])}
    assert answer("write_window", name, inputs, keep=1)["present_key"][:, 0, :, 0].tolist() == expected
