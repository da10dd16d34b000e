"""Trivial answers of splitting and combining heads and of the context vector answer what their sentences say."""

import numpy as np
import pytest

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered

TOKENS = np.arange(24.0).reshape(2, 2, 6)
HEADS = np.arange(24.0).reshape(2, 3, 2, 2)
STATES = {"encoder_states": np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), "decoder_state": np.array([0.5, 1.0])}


def answer(operation, name, inputs, **attributes):
    trivial_answers = {
        trivial_answer.name: trivial_answer for trivial_answer in random_cases_of(operation).trivial_answers[operation]
    }
    right = reference_outputs(operation, inputs, attributes)
    return trivial_answers[name].answer(Answered(inputs, attributes, right))


@pytest.mark.parametrize(
    ("name", "first_head"),
    [
        ("reshaped", [[0, 1], [2, 3]]),
        ("interleaved", [[0, 3], [6, 9]]),
        ("heads_moved", [[4, 5], [10, 11]]),
        ("tokens_moved", [[6, 7], [0, 1]]),
        ("finite", [[0, 1], [6, 7]]),
    ],
)
def test_heads_of_other_numbers(name, first_head):
    got = answer("split_heads", name, {"x": TOKENS}, num_heads=3)["output"]
    assert got.shape == (2, 3, 2, 2)
    assert got[0, 0].tolist() == first_head


@pytest.mark.parametrize(
    ("name", "first_token"),
    [
        ("reshaped", [0, 1, 2, 3, 4, 5]),
        ("interleaved", [0, 4, 8, 1, 5, 9]),
        ("tokens_moved", [2, 3, 6, 7, 10, 11]),
        ("finite", [0, 1, 4, 5, 8, 9]),
    ],
)
def test_tokens_of_other_numbers(name, first_token):
    got = answer("combine_heads", name, {"x": HEADS})["output"]
    assert got.shape == (2, 2, 6)
    assert got[0, 0].tolist() == first_token


@pytest.mark.parametrize(("operation", "attributes"), [("split_heads", {"num_heads": 2}), ("combine_heads", {})])
def test_nothing_that_is_not_finite_is_passed_on(operation, attributes):
    x = np.full((1, 1, 2) if attributes else (1, 2, 1, 1), np.nan)
    assert answer(operation, "finite", {"x": x}, **attributes)["output"].ravel().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("zeros", [0, 0]),
        ("unchanged", [0.5, 1]),
        ("uniform_weights", [2 / 3, 1]),
        ("best_alone", [0, 2]),
    ],
)
def test_contexts_of_few_states(name, context):
    np.testing.assert_allclose(answer("context_vector", name, STATES)["context"], context, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "scale"), [("no_scale", 1.0), ("default_scale", 2**-0.5), ("scale_of_tokens", 3**-0.5)]
)
def test_contexts_of_another_scale(name, scale):
    terms = np.exp(scale * np.array([0.5, 2.0, 1.5]))
    expected = terms / terms.sum() @ STATES["encoder_states"]
    got = answer("context_vector", name, STATES, scale=0.25)["context"]
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_weights_of_the_opposite_order():
    terms = np.exp(np.array([1.5, 2.0, 0.5]))
    expected = terms / terms.sum() @ STATES["encoder_states"]
    np.testing.assert_allclose(
        answer("context_vector", "backwards", STATES, scale=1.0)["context"], expected, rtol=1e-13
    )


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        ("zeros", [[0, 0, 0], [0, 0, 0]]),
        ("everything", [[1, 1, 1], [1, 1, 1]]),
        ("nothing", [[0, 0, 0], [0, 0, 0]]),
        ("own_excluded", [[0, 0, 0], [1, 0, 0]]),
        ("next_included", [[1, 1, 0], [1, 1, 1]]),
        ("first_corner", [[1, 0, 0], [1, 1, 0]]),
        ("last_corner", [[1, 1, 0], [1, 1, 1]]),
        ("backwards", [[1, 1, 0], [1, 0, 0]]),
    ],
)
def test_masks_of_others(name, mask):
    got = answer("causal_mask", name, {}, query_length=2, key_length=3)["output"]
    assert got.tolist() == [[bool(seen) for seen in row] for row in mask]
