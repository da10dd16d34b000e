"""Trivial answers of rotary positions answer what their sentences say."""

import numpy as np
import pytest

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered

ROTATION, TABLES = "apply_rotary", "rotary_tables"


def answer(operation, name, inputs, **attributes):
    trivial_answers = {
        trivial_answer.name: trivial_answer for trivial_answer in random_cases_of(operation).trivial_answers[operation]
    }
    right = reference_outputs(operation, inputs, attributes)
    return trivial_answers[name].answer(Answered(inputs, attributes, right))


def rotating():
    rng = np.random.default_rng(3)
    return {
        "x": rng.integers(-8, 9, (2, 3, 4, 5)) / 4,
        "cos": rng.integers(-8, 9, (2, 4, 2)) / 8,
        "sin": rng.integers(-8, 9, (2, 4, 2)) / 8,
    }


@pytest.mark.parametrize(("pairing", "firsts", "seconds"), [("half", [0, 1], [2, 3]), ("interleaved", [0, 2], [1, 3])])
def test_second_features_see_first_ones_that_are_turned_already(pairing, firsts, seconds):
    inputs = rotating()
    got = answer(ROTATION, "in_place", inputs, pairing=pairing)["output"]
    x, cos, sin = inputs["x"].copy(), *(inputs[name][:, np.newaxis] for name in ("cos", "sin"))
    x[..., firsts] = cos * x[..., firsts] - sin * x[..., seconds]
    x[..., seconds] = sin * x[..., firsts] + cos * x[..., seconds]
    np.testing.assert_allclose(got, x, rtol=1e-14)


def test_tables_of_others():
    inputs = rotating()
    for name, positions, axis in (
        ("first_token", [0, 0, 0, 0], 1),
        ("token_before", [3, 0, 1, 2], 1),
        ("first_entry", [0, 0], 0),
    ):
        taken = {table: inputs[table].take(positions, axis=axis) for table in ("cos", "sin")}
        expected = reference_outputs(ROTATION, {**inputs, **taken}, {})["output"]
        np.testing.assert_array_equal(answer(ROTATION, name, inputs)["output"], expected)


def test_pairs_of_the_other_pairing():
    inputs = rotating()
    expected = reference_outputs(ROTATION, inputs, {"pairing": "interleaved"})["output"]
    np.testing.assert_array_equal(answer(ROTATION, "other_pairs", inputs)["output"], expected)
    expected = reference_outputs(ROTATION, inputs, {"pairing": "half"})["output"]
    np.testing.assert_array_equal(answer(ROTATION, "other_pairs", inputs, pairing="interleaved")["output"], expected)


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("counted", [[0, 1, 2], [0, 1, 2]]),
        ("counted_on", [[7, 8, 9], [300, 301, 302]]),
        ("first_entry", [[7, 3, 3], [7, 3, 3]]),
        ("next_position", [[8, 4, 4], [301, 5, 6]]),
        ("byte", [[7, 3, 3], [44, 4, 5]]),
    ],
)
def test_tables_of_other_positions(name, positions):
    inputs = {"position_ids": np.array([[7, 3, 3], [300, 4, 5]]), "inverse_frequencies": np.array([1.0, 0.25])}
    got = answer(TABLES, name, inputs, attention_factor=1.25)
    phases = np.array(positions)[:, :, np.newaxis] * inputs["inverse_frequencies"]
    np.testing.assert_allclose(got["cos"], 1.25 * np.cos(phases), rtol=1e-14)
    np.testing.assert_allclose(got["sin"], 1.25 * np.sin(phases), rtol=1e-14)


@pytest.mark.parametrize(("name", "factor"), [("no_factor", 1.0), ("factor_twice", 1.25**2)])
def test_the_factor_is_forgotten_or_taken_twice(name, factor):
    inputs = {"position_ids": np.array([[7, 3]]), "inverse_frequencies": np.array([1.0, 0.25])}
    phases = inputs["position_ids"][:, :, np.newaxis] * inputs["inverse_frequencies"]
    np.testing.assert_allclose(
        answer(TABLES, name, inputs, attention_factor=1.25)["cos"], factor * np.cos(phases), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("name", "frequencies", "factor"),
    [
        ("zeros", [0, 0], 0),
        ("unscaled", [1, 0.1], 1),
        ("linear", [0.25, 0.025], 1),
        ("usual_base", [1, 0.01 / 4], 1 + 0.1 * np.log(4)),
        ("half_powers", [1, 0.1 / 4 * 10**0.5], None),
        ("pairs_moved", [0.025, 1], None),
        ("no_attention_factor", None, 1),
    ],
)
def test_frequencies_of_others(name, frequencies, factor):
    attributes = {"width": 4, "theta": 100.0, "scaling": "yarn", "factor": 4.0, "original_length": 16}
    # The range of yarn runs from the first pair to the second.
    got = answer("rotary_frequencies", name, {}, **attributes, beta_slow=2.0, beta_fast=2.25)
    assert ("inverse_frequencies" in got) == (frequencies is not None)
    assert ("attention_factor" in got) == (factor is not None)
    if frequencies is not None:
        np.testing.assert_allclose(got["inverse_frequencies"], frequencies, rtol=1e-13)
    if factor is not None:
        np.testing.assert_allclose(got["attention_factor"], factor, rtol=1e-13)


def test_frequencies_of_texts_that_are_short():
    attributes = {"width": 4, "scaling": "dynamic", "factor": 4.0, "original_length": 16}
    got = answer("rotary_frequencies", "short", {}, **attributes, sequence_length=64)
    np.testing.assert_allclose(got["inverse_frequencies"], [1, 0.01], rtol=1e-13)
