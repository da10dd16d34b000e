"""Context vector, on the first question of 003_fd68dee9562e4594.txt."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import context_vector

STATES = np.array(
    [[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08], [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]]
)
DECODER = np.array([0.45, 0.11, -0.88, 0.67])


def test_gives_what_the_document_printed():
    result = context_vector(STATES, DECODER)
    assert result.raw_scores == pytest.approx([-0.6053, -0.7374, -0.2628, 0.977], abs=1e-15)
    assert result.scores == pytest.approx([-0.30265, -0.3687, -0.1314, 0.4885], abs=1e-15)
    assert result.weights == pytest.approx([0.1876594, 0.17566497, 0.22271181, 0.41396383], abs=0.5e-8, rel=0)


def test_the_context_follows_the_formula_and_not_the_document():
    context = context_vector(STATES, DECODER).context
    assert context == pytest.approx([0.09578694, 0.14982156, 0.24673243, 0.38854995], abs=0.5e-8, rel=0)


def test_the_printed_context_weighs_features_instead_of_tokens():
    weights = context_vector(STATES, DECODER).weights
    printed = [0.07694035, -0.00526995, 0.38974566, 0.45122057]
    assert weights * STATES.sum(axis=0) == pytest.approx(printed, abs=0.5e-8, rel=0)


def test_equal_scores_give_the_mean_state():
    result = context_vector(np.array([[1.0, 2], [3, 10]]), np.zeros(2))
    assert result.context.tolist() == [2, 6]


def test_scales_by_the_features_and_not_by_the_tokens():
    result = context_vector(np.array([[4.0, 0, 0, 0], [0, 0, 0, 0]]), np.array([1.0, 0, 0, 0]))
    assert result.raw_scores.tolist() == [4, 0]
    assert result.scores.tolist() == [2, 0]


@pytest.mark.parametrize("scale", [0.0, -1.0, 3.0])
def test_an_explicit_scale_is_literal(scale):
    result = context_vector(np.array([[4.0, 0, 0, 0], [0, 0, 0, 0]]), np.array([1.0, 0, 0, 0]), scale=scale)
    assert result.scores.tolist() == [4 * scale, 0]


@pytest.mark.parametrize(
    ("states", "decoder", "sentence"),
    [((4, 4), (3,), "same number of features"), ((4,), (4,), "shapes"), ((4, 4), (1, 4), "shapes")],
)
def test_refuses_states_that_cannot_be_compared(states, decoder, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        context_vector(np.zeros(states), np.zeros(decoder))
    assert str(states) in str(refusal.value)
    assert str(decoder) in str(refusal.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_returns_the_dtype_of_its_input(dtype):
    result = context_vector(STATES.astype(dtype), DECODER.astype(dtype))
    assert {output.dtype for output in result} == {np.dtype(dtype)}
    unit = float(ml_dtypes.finfo(dtype).eps)
    expected = context_vector(STATES, DECODER).context
    assert result.context.astype(float) == pytest.approx(expected, abs=4 * unit)


def test_leaves_its_inputs_alone():
    states, decoder = STATES.copy(), DECODER.copy()
    context_vector(states, decoder)
    assert np.array_equal(states, STATES)
    assert np.array_equal(decoder, DECODER)
