"""Trivial answers of norms answer what their sentences say."""

import numpy as np
import pytest

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered


def answer(operation, name, inputs, **attributes):
    (found,) = (each for each in random_cases_of(operation).trivial_answers[operation] if each.name == name)
    return found.answer(Answered(inputs, attributes, reference_outputs(operation, inputs, attributes)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unchanged", [1, 7]),
        ("no_weight", [1 / 6, 7 / 6]),
        ("other_offset", [3 / 6, 1.5 * 7 / 6]),
        ("of_the_sum", [2 / 61**0.5, 3.5 / 61**0.5]),
        ("of_centred", [-2 * 3 / 20**0.5, 0.5 * 3 / 20**0.5]),
        ("no_epsilon", [0.4, 0.7]),
        ("epsilon_outside", [2 / 16, 3.5 / 16]),
    ],
)
def test_tokens_that_are_normalized_in_another_way(name, expected):
    # The squares have the mean 25, which epsilon makes 36; without their mean, the features are -3 and 3.
    inputs = {"x": np.array([[1.0, 7.0]]), "weight": np.array([2.0, 0.5])}
    np.testing.assert_allclose(answer("rms_norm", name, inputs, epsilon=11.0)["output"], [expected], rtol=1e-14)


def pair():
    """Two heads of queries, one of keys, of two tokens, and tables of two pairs."""
    rng = np.random.default_rng(5)
    shapes = {"query": (1, 2, 2, 4), "key": (1, 1, 2, 4), "query_weight": (4,), "key_weight": (4,)}
    shapes |= {"cos": (1, 2, 2), "sin": (1, 2, 2)}
    return {name: rng.integers(1, 9, shape) / 4 for name, shape in shapes.items()}


def normalized(x, weight, axes=-1):
    return x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + 0.5) * weight


def rotated(x, inputs, pairing):
    tables = {name: inputs[name] for name in ("cos", "sin")}
    return reference_outputs("apply_rotary", {"x": x, **tables}, {"pairing": pairing})["output"]


def test_queries_and_keys_that_are_rotated_in_another_way():
    inputs = pair()
    weight = inputs["query_weight"]
    plain = normalized(inputs["query"], weight)
    turned = normalized(rotated(inputs["query"], inputs, "interleaved"), weight)
    for name, expected in (("not_rotated", plain), ("rotated_first", turned)):
        got = answer("qk_norm", name, inputs, epsilon=0.5, pairing="interleaved")["query_output"]
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    plain = normalized(inputs["key"], inputs["key_weight"])
    got = answer("qk_norm", "other_pairs", inputs, epsilon=0.5)["key_output"]
    np.testing.assert_allclose(got, rotated(plain, inputs, "interleaved"), rtol=1e-13)


def test_answers_without_tables():
    inputs = {name: array for name, array in pair().items() if name not in ("cos", "sin")}
    got = answer("qk_norm", "together", inputs, epsilon=0.5)["query_output"]
    np.testing.assert_allclose(got, normalized(inputs["query"], inputs["query_weight"], (1, 3)), rtol=1e-13)
    right = normalized(inputs["query"], inputs["query_weight"])
    for name in ("not_rotated", "other_pairs", "rotated_first"):
        np.testing.assert_allclose(answer("qk_norm", name, inputs, epsilon=0.5)["query_output"], right, rtol=1e-13)
