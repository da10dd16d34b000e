"""The tolerance of softmax where some numbers are minus infinity: they weigh nothing, and the others are rounded."""

import numpy as np
import pytest

from attnspec.bounds.tolerance import precision_of
from attnspec.families.lookup import family_of

HIDDEN = np.array([[-13.0, -np.inf, -np.inf, -18.0], [0.5, -np.inf, 1.0, 0.25]])


def tolerance(x, dtype="float16", **attributes):
    return family_of("softmax").tolerance("softmax", {"x": x}, attributes, precision_of(dtype), {}).of("output", 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_hidden_numbers_weigh_nothing_and_others_are_as_without_them(dtype):
    found = tolerance(HIDDEN, dtype)
    for row, numbers in enumerate(HIDDEN):
        shown = np.isfinite(numbers)
        alone = tolerance(numbers[shown][np.newaxis], dtype)
        np.testing.assert_allclose(found.value[row][shown], alone.value[0], rtol=1e-15)
        np.testing.assert_allclose(found.error[row][shown], alone.error[0], rtol=0.2)
        assert not found.value[row][~shown].any()
        assert not found.error[row][~shown].any()


def test_a_weight_near_one_is_allowed_its_rounding():
    found = tolerance(HIDDEN)
    assert found.error[0, 0] > 2.0**-12 * found.value[0, 0]


@pytest.mark.parametrize("axis", [0, None])
def test_along_any_axis(axis):
    found = tolerance(HIDDEN.T if axis == 0 else HIDDEN, axis=axis)
    expected = np.exp(HIDDEN) / np.exp(HIDDEN).sum(axis=-1 if axis == 0 else None, keepdims=True)
    np.testing.assert_allclose(found.value.T if axis == 0 else found.value, expected, rtol=1e-12)
