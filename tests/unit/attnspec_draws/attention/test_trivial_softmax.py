"""Trivial answers of softmax answer what their sentences say."""

import numpy as np
import pytest

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered

X = np.array([[1.0, 2.0, 2.0], [-30.0, 0.5, 20.0]])


def answer(name, **attributes):
    trivial_answers = {
        trivial_answer.name: trivial_answer for trivial_answer in random_cases_of("softmax").trivial_answers["softmax"]
    }
    right = reference_outputs("softmax", {"x": X}, attributes)
    return trivial_answers[name].answer(Answered({"x": X}, attributes, right))["output"]


def shares(x, axis=-1):
    terms = np.exp(x - x.max())
    return terms / terms.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(("name", "axis"), [("last_axis", -1), ("first_axis", 0), ("whole_array", None)])
@pytest.mark.parametrize("stated", [{}, {"axis": 0}, {"axis": None}])
def test_sums_run_along_an_axis_that_was_not_requested(name, axis, stated):
    np.testing.assert_allclose(answer(name, **stated), shares(X, axis), rtol=1e-13)


def test_weights_that_look_at_little():
    np.testing.assert_array_equal(answer("uniform", axis=0), np.full(X.shape, 0.5))
    np.testing.assert_array_equal(answer("uniform", axis=None), np.full(X.shape, 1 / 6))
    np.testing.assert_array_equal(answer("largest_alone"), [[0, 0.5, 0.5], [0, 0, 1]])


def test_other_exponentials():
    np.testing.assert_allclose(answer("base_2"), 2.0**X / (2.0**X).sum(axis=-1, keepdims=True), rtol=1e-13)
    np.testing.assert_allclose(answer("clipped"), shares(np.clip(X, -8, 8)), rtol=1e-13)
    np.testing.assert_array_equal(answer("exponentials_alone").max(axis=-1), [1, 1])
